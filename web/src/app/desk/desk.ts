/** One exercise at work: editor, samples, submission, verdict. On the exercise page and inside a chapter. */

import { lintBy } from "../editor/lint";
import { apiHelp } from "../editor/api";
import { Editor } from "../editor/editor";
import { clock, h, icon, plainCode, rich, say } from "../dom";
import type { Runner } from "../../runner/types";
import { NoJudge, Refused, solution, submission, Unreachable } from "../judge/client";
import { follow } from "../judge/follow";
import { Outbox } from "../judge/outbox";
import { halfCharacter } from "../lib/text";
import { hasRunner, runner } from "../runner";
import { at } from "../site-data";
import type { Store } from "../store/database";
import { DraftKeeper, type OtherWindow } from "../store/draft";
import { history, remember } from "../store/history";
import { keepTry, noteVerdict } from "../store/progress";
import type { ExerciseData, Look, Result, SubmissionBrief } from "../types";
import { t } from "../words";
import { Hints } from "./hints";
import { type DeskParts, layout } from "./layout";
import { diffView, historyList, Panel } from "./panel";
import { SampleRuns } from "./sample-runs";
import { Samples } from "./samples";
import { Live } from "./stream";
import { Tries } from "./tries";
import { type Judging, line, VerdictBox } from "./verdict";

export interface DeskOptions {
  exercise: ExerciseData;
  store: Store;
  /** Begins every id; empty on the exercise's own page. */
  prefix?: string;
  /** Where the submissions are listed; a chapter has no such list. */
  tries?: HTMLElement;
  /** After each change of the exercise's state. */
  onProgress(): void;
  onJudged?(id: number, result: Result): void;
}

export class Desk {
  readonly parts: DeskParts;
  private editor!: Editor; // from start() on
  private readonly exercise: ExerciseData;
  private readonly store: Store;
  private readonly prefix: string;
  private readonly verdict: VerdictBox;
  private readonly samples: Samples;
  private readonly sampleRuns: SampleRuns;
  private readonly panel: Panel;
  private readonly hints: Hints;
  private readonly drafts: DraftKeeper;
  private readonly outbox: Outbox;
  private readonly tries: Tries;
  private python: Runner | null = null;
  private stopFollowing: () => void = () => {};
  private atHand: string | null = null; // the code that is being sent or judged
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: DeskOptions) {
    const { exercise, store, prefix = "" } = options;
    this.exercise = exercise;
    this.store = store;
    this.prefix = prefix;
    this.parts = layout(exercise, prefix);
    this.verdict = new VerdictBox(this.parts.verdict, exercise, prefix);
    this.samples = new Samples(this.parts);
    const desk = this;
    this.sampleRuns = new SampleRuns(exercise, this.samples, {
      get runsHere() {
        return desk.runsHere;
      },
      use: (python) => {
        this.python = python;
      },
      flush: () => this.flush(),
      say: (look, text, picture) => this.say(look, text, picture),
      refused: (error) => this.refused(error),
      broke: (lines, code) => {
        if (this.code === code) this.editor.mark({ broke: lines });
      },
    });
    this.panel = new Panel(this.parts.panel);
    this.hints = new Hints(exercise, store, prefix);
    this.drafts = new DraftKeeper(store, `ex:${exercise.id}`, (other) => this.fromOtherWindow(other));
    this.outbox = new Outbox(store, exercise.id, (why, cancel) => this.waiting(why, cancel));
    this.tries = new Tries(options.tries ?? h("ol"), exercise, store, (one) => void this.open(one, true));
  }

  get code(): string {
    return this.editor.code;
  }

  /**
   * Fill the editor with what was kept, and show how the exercise stands. `mount` puts the parts into the page: only
   * now, in one go with the editor, so that nothing moves under the reader's eyes.
   */
  async start(mount: () => void): Promise<void> {
    const kept = await this.drafts.load();
    mount();
    const { starter, starterOther } = this.exercise;
    const code = kept && kept.code !== starterOther ? kept.code : starter;
    this.editor = new Editor({
      host: this.parts.host,
      code,
      state: kept?.state,
      label: t("editor"),
      onChange: () => this.changed(),
      extensions: [lintBy(() => this.python), apiHelp],
    });
    if (kept && code !== starter) this.parts.saved.textContent = t("saved", { time: clock(kept.at) });
    this.samples.idle();
    this.verdict.draft();
    this.listen();
    await this.hints.load();
    const left = await this.outbox.left();
    const newest = await this.tries.refresh();
    if (left) await this.resume(left);
    else if (newest) await this.open(newest, false);
  }

  /** Lines of the learner's file that the run is at. */
  markRan(lines: number[]): void {
    this.editor.mark({ ran: lines });
  }

  private listen(): void {
    const { parts } = this;
    parts.submit.addEventListener("click", () => void this.submit());
    parts.run.addEventListener("click", () => void this.runSamples());
    parts.over.addEventListener("click", () => void this.startOver());
    parts.history.addEventListener("click", () => void this.showHistory());
    parts.diff.addEventListener("click", () => void this.showDiff());
    parts.editor.addEventListener("keydown", (event) => this.onKey(event), { capture: true });
    parts.host.addEventListener("focusin", () => this.warm(), { once: true });
    parts.run.addEventListener("pointerenter", () => this.warm(), { once: true });
    for (const button of parts.keys.querySelectorAll("button")) {
      button.addEventListener("pointerdown", (event) => event.preventDefault()); // the text keeps the focus
      button.addEventListener("click", () => {
        if (button.dataset.key === "Tab") this.editor.indent();
        else this.editor.insert(button.dataset.key ?? "");
      });
    }
    addEventListener("pagehide", () => this.flush());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.flush();
    });
  }

  /** Ctrl Enter runs the samples, Ctrl Shift Enter submits; a held key does so once. */
  onKey(event: KeyboardEvent): void {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.altKey || !this.editor) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.repeat) return;
    if (event.shiftKey) void this.submit();
    else void this.runSamples();
  }

  /** Python begins to load once somebody writes, so that it is there for the first run. */
  private warm(): void {
    if (!this.runsHere) return;
    void runner().then((made) => {
      this.python = made;
      return made?.warm();
    }).catch(() => {});
  }

  private get runsHere(): boolean {
    return hasRunner() && this.exercise.browser !== "server";
  }

  // --- What is written ------------------------------------------------------------------------------------------

  private changed(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), 250);
  }

  private flush(): void {
    if (this.timer !== undefined) this.save();
  }

  private save(): void {
    clearTimeout(this.timer);
    this.timer = undefined; // what is kept may be another window's by the time this one is left
    const untouched = this.code === this.exercise.starter;
    void this.drafts.save(this.code, () => this.editor.state()).then((kept) => {
      this.parts.saved.textContent = !kept ? t("not_saved") : untouched ? "" : t("saved", { time: clock(Date.now()) });
    });
  }

  private replace(code: string): void {
    this.editor.code = code;
    this.save();
    this.editor.focus();
  }

  private fromOtherWindow(other: OtherWindow): void {
    const { note } = this.parts;
    if (!this.editor || other.code === this.code) {
      note.hidden = true;
      this.drafts.seen(other);
      return;
    }
    const answer = (take: boolean): void => {
      note.hidden = true;
      void remember(this.store, `ex:${this.exercise.id}`, take ? this.code : other.code, "other");
      this.drafts.seen(other);
      if (take) this.replace(other.code);
      else this.save();
    };
    note.replaceChildren(
      icon("fault"),
      h("span", {}, t("other_window", { time: clock(other.at) })),
      h("button", { class: "btn", type: "button", click: () => answer(false) }, t("keep_mine")),
      h("button", { class: "btn", type: "button", click: () => answer(true) }, t("take_other")),
    );
    note.hidden = false;
  }

  private async startOver(): Promise<void> {
    if (this.code === this.exercise.starter || !confirm(t("start_over_ask"))) return;
    const old = this.code;
    this.replace(this.exercise.starter);
    await remember(this.store, `ex:${this.exercise.id}`, old, "over");
  }

  private async showHistory(): Promise<void> {
    const kept = await history(this.store, `ex:${this.exercise.id}`);
    this.panel.toggle(this.parts.history, () =>
      historyList(kept, this.code, (one) => {
        void remember(this.store, `ex:${this.exercise.id}`, this.code, "over");
        this.panel.close();
        this.replace(one.code);
      }),
    );
  }

  private async showDiff(): Promise<void> {
    const last = await this.tries.lastCode();
    this.panel.toggle(this.parts.diff, () => {
      if (last === null) return [h("p", { class: "small" }, t("diff_none"))];
      return [h("p", { class: "small" }, t("diff_text")), diffView(last, this.code)];
    });
  }

  // --- Submitting -----------------------------------------------------------------------------------------------

  private say(kind: Look, text: string, picture: string = kind, ...more: Node[]): void {
    const words = h("span", { class: `${kind} tinted` }, icon(picture), h("span", {}, rich(text)));
    say(this.parts.last, words, more);
  }

  private ready(): boolean {
    const line = halfCharacter(this.code);
    if (this.code.trim() && line === null) return true;
    this.say("wrong", line === null ? t("empty") : t("half_character", { line }));
    if (line !== null) this.editor.mark({ broke: [line] });
    this.editor.focus();
    return false;
  }

  async submit(): Promise<void> {
    const code = this.code;
    if (!this.ready() || code === this.atHand) return; // a second click on what is being judged is no second submission
    this.atHand = code;
    this.flush();
    this.say("fault", t("sending"), "wait");
    await this.deliver(code, () => this.outbox.submit(code));
  }

  /** What an earlier page could not hand in. */
  private async resume(left: { key: string; code: string; exercise: number; at: number }): Promise<void> {
    this.atHand = left.code;
    await this.deliver(left.code, () => this.outbox.deliver(left));
  }

  private async deliver(code: string, work: () => Promise<SubmissionBrief | null>): Promise<void> {
    let made: SubmissionBrief | null;
    try {
      made = await work();
    } catch (error) {
      this.atHand = null;
      this.refused(error);
      return;
    }
    if (made) this.watch(made.id, code, true);
    else if (this.atHand === code) this.atHand = null;
  }

  private waiting(why: "unreachable" | "none", cancel: () => void): void {
    const stop = (): void => {
      cancel();
      this.atHand = null;
      this.parts.last.replaceChildren();
    };
    const button = h("button", { class: "btn plain", type: "button", click: stop }, t("cancel"));
    if (why === "none") this.say("fault", t("no_judge", { id: this.exercise.id }), "fault", button);
    else this.say("fault", t("unreachable"), "fault", button);
  }

  private refused(error: unknown): void {
    if (error instanceof Refused) this.say(error.status >= 500 ? "fault" : "wrong", error.message);
    else if (error instanceof Unreachable) this.say("fault", t("reconnecting"), "wait");
    else if (error instanceof NoJudge) this.say("fault", t("no_judge", { id: this.exercise.id }));
    else throw error;
  }

  /** Follow a submission to its verdict. `fresh`: it was made just now, so its verdict gets the focus. */
  private watch(id: number, code: string, fresh: boolean): void {
    this.stopFollowing();
    this.atHand = code;
    let state: Omit<Judging, "live"> = { stage: "received" };
    let live = new Live(this.exercise);
    const draw = (): void => {
      this.verdict.judging({ ...state, live: live.element });
      const { group, stage } = state;
      this.say("fault", stage === "engine" ? t("judging_engine") : group ? t("judging_group", group) : t("judging"), "wait");
    };
    draw();
    void this.tries.refresh();
    this.stopFollowing = follow(
      id,
      {
        queued: ({ place, again }) => {
          live = new Live(this.exercise);
          state = { stage: "received", place, again };
          draw();
        },
        running: () => {
          state = { stage: "unit", again: state.again };
          draw();
        },
        group: ({ number, groups }) => {
          state = { ...state, stage: "unit", group: { k: Math.min(number + 1, groups), n: groups } };
          draw();
        },
        engine: () => {
          state = { ...state, stage: "engine" };
          draw();
        },
        token: (event) => {
          const had = live.element;
          live.add(event);
          if (!had) draw();
        },
        verdict: ({ result, attempt }) => {
          this.atHand = null;
          void this.judged(id, attempt ?? 1, code, result, new Date().toISOString());
          const elsewhere = this.parts.host.shadowRoot?.activeElement && this.code !== code;
          if (fresh && !elsewhere) this.verdict.focus();
          void this.tries.refresh();
        },
      },
      (lost) => (lost ? this.say("fault", t("reconnecting"), "wait") : draw()),
    );
  }

  private async judged(id: number, attempt: number, code: string, result: Result, at: string): Promise<void> {
    this.show(result, id, attempt, code);
    const { verdict, score } = result;
    try {
      await keepTry(this.store, { id, exercise: this.exercise.id, status: "done", attempt, created_at: at, verdict, score, code });
      await noteVerdict(this.store, this.exercise.id, verdict, code);
    } catch {
      // The browser keeps nothing; the judge still has it.
    }
    this.options.onProgress();
  }

  private show(result: Result, id: number, attempt: number, code: string): void {
    say(this.parts.last, line(this.exercise, result.verdict, result.score));
    if (result.samples.length) this.samples.fromJudge(result, false);
    const changed = this.code !== code;
    this.verdict.result(result, { id, attempt, changed, hints: this.hints.element(), acts: this.acts(result, code, changed) });
    if (!changed && result.line !== null && result.verdict !== "AC") this.editor.mark({ broke: [result.line] });
    this.options.onJudged?.(id, result);
  }

  private acts(result: Result, code: string, changed: boolean): HTMLElement | null {
    const buttons: HTMLElement[] = [];
    const { next } = this.exercise;
    if (result.verdict === "AC") {
      if (next) {
        const words = rich(t("next", { id: next.id, name: `\`${next.name}\`` }));
        const address = at(`${this.exercise.lang}/exercises/${next.id}/`);
        buttons.push(h("a", { class: "btn main", href: address }, h("span", {}, words), icon("right")));
      }
      const words = t(this.exercise.place === "engine" ? "solution" : "solution_other");
      const compare: HTMLButtonElement = h("button", { class: "btn", type: "button", "aria-expanded": "false" }, words);
      compare.addEventListener("click", () => void this.reveal(compare));
      buttons.push(compare);
    }
    if (result.verdict === "SE") buttons.push(h("button", { class: "btn", type: "button", click: () => this.submit() }, t("judge_again")));
    if (changed) buttons.push(h("button", { class: "btn", type: "button", click: () => this.replace(code) }, t("use_code")));
    return buttons.length ? h("p", { class: "acts" }, buttons) : null;
  }

  private async reveal(button: HTMLElement): Promise<void> {
    const there = document.getElementById(`${this.prefix}solution`);
    if (there) {
      there.remove();
      button.setAttribute("aria-expanded", "false");
      return;
    }
    let code: string;
    try {
      code = (await solution(this.exercise.id)).code;
    } catch (error) {
      this.refused(error);
      return;
    }
    const section = h(
      "section",
      { id: `${this.prefix}solution`, class: "solution" },
      h("h3", {}, t("solution_head")),
      plainCode(t("solution_head"), code),
      h("h3", {}, t("solution_diff")),
      diffView(code, this.code),
    );
    button.closest(".acts")?.after(section);
    button.setAttribute("aria-expanded", "true");
  }

  /** Show a submission from the list, or follow it when it is not judged yet. */
  private async open(brief: SubmissionBrief, fresh: boolean): Promise<void> {
    let one: Awaited<ReturnType<typeof submission>>;
    try {
      one = await submission(brief.id);
    } catch (error) {
      if (fresh) this.refused(error);
      return;
    }
    if (one.status !== "done" || !one.result) {
      this.watch(one.id, one.code, fresh);
      return;
    }
    this.stopFollowing();
    this.atHand = null;
    await this.judged(one.id, one.attempt, one.code, one.result, one.created_at);
    if (fresh) this.verdict.focus();
  }

  private async runSamples(): Promise<void> {
    if (this.ready()) await this.sampleRuns.run(this.code);
  }
}
