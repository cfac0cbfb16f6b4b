/** Plays an animation: its state at a step, the words for it, and the ways to go to another step. */

import { h, setText } from "../dom";
import { History } from "../history";
import type { Trace } from "../trace";
import type { Animation, BaseState, Context, View } from "../types";
import { note } from "../words";
import { Scrubber } from "./scrubber";
import { sentence, textOf } from "./text";
import { Transport, type Deed } from "./transport";

const BEAT_MS = 900;
/** Whoever wants no motion reads: each step then stands longer. */
const STILL_BEAT_MS = 1600;
const LONG = 2000;

export interface Options {
  /** The learner's file, so that the line that did it can be shown. */
  code?: string;
  /** The step to begin with; by default the first. */
  step?: number;
  onStep?(step: number, line: number | null): void;
}

export class Player<S extends BaseState> {
  readonly element: HTMLElement;
  private readonly history: History<S>;
  private readonly view: View<S>;
  private readonly scrubber: Scrubber;
  private readonly transport: Transport;
  private readonly cap = h("p", { class: "cap", "aria-live": "polite" });
  private readonly did = h("p", { class: "did", hidden: true });
  private readonly pos = h("output", { class: "pos" });
  private readonly observer: ResizeObserver;
  private readonly lines: string[];
  private timer: ReturnType<typeof setTimeout> | null = null;
  private now = 0;

  constructor(
    animation: Animation<S>,
    trace: Trace,
    private readonly context: Context,
    private readonly options: Options,
  ) {
    this.history = new History(animation, trace.events);
    this.lines = (options.code ?? "").split("\n");
    const stage = h("div", { class: "stage" });
    this.view = animation.view(stage, trace.events, context);
    this.scrubber = new Scrubber(this.history.steps, context.word("player_step"), (step) => this.seek(step));
    this.transport = new Transport(
      context,
      (deed) => this.act(deed),
      () => this.timer && this.schedule(),
    );
    const deck = h("div", { class: "deck" }, this.transport.element, this.scrubber.element, this.transport.speed, this.pos);
    const notices = noticesOf(trace, context);
    this.element = h("div", { class: `player ${animation.name}`, lang: context.lang === "zh" ? "zh-CN" : "en" });
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", context.word(`${animation.name}_title`));
    this.element.append(...notices, stage, h("div", { class: "caption" }, this.cap, this.did), deck);
    this.element.append(textOf(this.history, context));
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.observer = new ResizeObserver(() => this.view.resize?.());
    this.observer.observe(stage);
    this.survey();
    this.go(options.step ?? 0);
  }

  get step(): number {
    return this.now;
  }

  get length(): number {
    return this.history.steps.length;
  }

  /** Stop and show a step; a number beyond the end is the end. */
  seek(step: number): void {
    this.stop();
    this.go(step);
  }

  destroy(): void {
    this.stop();
    this.observer.disconnect();
    this.element.remove();
  }

  private go(step: number): void {
    this.now = Math.max(0, Math.min(this.length - 1, Math.trunc(step) || 0));
    const state = this.history.at(this.now);
    const shown = this.history.steps[this.now];
    const said = shown ? sentence(state, this.context) : this.context.word("player_empty");
    setText(this.cap, said);
    this.cap.classList.toggle("alert", state.alerts.length > 0);
    this.scrubber.show(this.now, `${this.now}: ${said}`);
    setText(this.pos, `${this.now} / ${Math.max(0, this.length - 1)}`);
    this.showLine(shown?.line ?? null);
    if (shown) this.view.update(state, shown);
    this.options.onStep?.(this.now, shown?.line ?? null);
  }

  private showLine(line: number | null): void {
    this.did.hidden = line === null;
    if (line === null) return;
    const code = this.lines[line - 1]?.trim();
    this.did.replaceChildren(h("mark", {}, this.context.say(note("player_your_line", { line }))));
    if (code) this.did.append(h("code", {}, code));
  }

  /** A first look at the whole run: what is wrong where, and how much room it takes. Long runs do without. */
  private survey(): void {
    if (this.length > LONG) return;
    let step = 0;
    for (const state of this.history.walk(0)) {
      this.view.survey?.(state);
      if (state.alerts.length > 0) this.scrubber.markBad(step);
      step += 1;
    }
  }

  private act(deed: Deed): void {
    if (deed === "play") return this.timer ? this.stop() : this.play();
    const to = { first: 0, back: this.now - 1, forward: this.now + 1, last: this.length - 1 };
    return this.seek(to[deed]);
  }

  private play(): void {
    if (this.now >= this.length - 1) this.go(0);
    if (this.length < 2) return;
    this.transport.showPlaying(true);
    this.schedule();
  }

  private schedule(): void {
    if (this.timer) clearTimeout(this.timer);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const beat = (still ? STILL_BEAT_MS : BEAT_MS) / this.transport.factor;
    this.timer = setTimeout(() => {
      this.go(this.now + 1);
      if (this.now >= this.length - 1) this.stop();
      else this.schedule();
    }, beat);
  }

  private stop(): void {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.transport.showPlaying(false);
  }

  /** Arrows, Home, End and the space bar, wherever the focus is in the player. */
  private onKey(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const target = event.composedPath()[0];
    if (target instanceof HTMLSelectElement) return;
    const presses = target instanceof HTMLButtonElement || (target instanceof HTMLElement && target.tagName === "SUMMARY");
    const deeds: Record<string, Deed> = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last" };
    const deed = event.key === " " && !presses ? "play" : deeds[event.key];
    if (!deed) return;
    event.preventDefault();
    this.act(deed);
  }
}

function noticesOf(trace: Trace, context: Context): HTMLElement[] {
  const notices: string[] = [];
  if (trace.newer !== null) notices.push(context.say(note("player_newer", { version: trace.newer })));
  if (trace.damaged > 0) notices.push(context.say(note("player_damaged", { n: trace.damaged })));
  return notices.map((said) => h("p", { class: "notice", role: "note" }, said));
}
