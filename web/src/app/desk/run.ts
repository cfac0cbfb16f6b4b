/** The learner's run, across the whole page: their function in the engine, step by step, and what it writes. */

import type { GenerateReport, TraceEvent } from "../../runner/types";
import { h, icon, rich, say } from "../dom";
import { sayState } from "../loading";
import { hasRunner, runner, whyNot } from "../runner";
import { at, site } from "../site-data";
import type { ExerciseData } from "../types";
import { lang, t } from "../words";
import { stoppedWords } from "./samples";
import { credit, type StreamRow, streamRow } from "./stream";

const MOST_TOKENS = 24;
/** For code that plays alone; with the engine a run has the runner's own limit. */
const ALONE_S = 5;

interface AnimationElement extends HTMLElement {
  trace: TraceEvent[];
  code: string;
}

export class OwnRun {
  private readonly facts = h("p", { class: "small num" });
  private readonly status = h("p", { class: "small", role: "status" });
  private readonly stage = h("div", { class: "stage" });
  private readonly streams = h("ol", { class: "streams" });
  private readonly button: HTMLButtonElement;
  /** The code plays without the engine. */
  private readonly alone: boolean;

  constructor(
    private readonly box: HTMLElement,
    private readonly exercise: ExerciseData,
    private readonly code: () => string,
    private readonly onStep: (lines: number[]) => void,
  ) {
    this.alone = exercise.ownRun?.engine === false;
    const label = t(this.alone ? "run_own" : "run_in_tab");
    this.button = h("button", { class: "btn", type: "button", click: () => this.generate() }, icon("play"), h("span", {}, label));
    const canRun = hasRunner() && exercise.browser === "all" && this.plays;
    const head = h("header", { class: "run-head" }, h("h2", { id: "run-h" }, t("run_head")), this.facts, canRun ? this.button : null);
    const how = this.alone ? "run_none_own" : exercise.ownRun ? "run_none_measure" : "run_none_tab";
    this.facts.textContent = t(canRun ? how : "run_none");
    box.replaceChildren(head, this.status, this.streams, this.stage);
    box.hidden = !canRun && (exercise.place === "none" || !this.animations.length);
    this.stage.addEventListener("minisgl-step", (event) => {
      const { line } = (event as CustomEvent<{ line?: number | null }>).detail ?? {};
      this.onStep(line ? [line] : []);
    });
  }

  /** The engine calls the function, or the exercise itself says how to play it. */
  private get plays(): boolean {
    return this.exercise.place !== "none" || Boolean(this.exercise.ownRun);
  }

  /** Those that this site has. */
  private get animations(): string[] {
    return this.exercise.animations.filter((name) => site.animations.includes(name));
  }

  /** The run that the judge made of the accepted code. */
  showJudged(trace: TraceEvent[]): void {
    this.facts.replaceChildren(...h("p", {}, t("run_judged"), " ", ...this.calls(trace)).childNodes);
    void this.play(trace);
  }

  /** The engine's text is the learner's only where the engine calls the function. */
  private whose(): (Node | string)[] {
    if (this.exercise.ownRun) return [h("mark", {}, rich(t("generated_2", { name: this.exercise.name }))), " "];
    return credit(this.exercise).map((each) => (typeof each === "string" ? ` ${each} ` : each));
  }

  private calls(trace: TraceEvent[]): (Node | string)[] {
    const steps = trace.filter((event) => typeof event.line === "number").length;
    return steps ? [h("mark", {}, rich(t("generated_2", { name: this.exercise.name }))), t("run_events", { n: steps })] : [];
  }

  private async play(trace: TraceEvent[]): Promise<void> {
    const names = this.animations;
    if (!trace.length || !names.length) return;
    const address = at("assets/animations/element.js");
    await import(/* @vite-ignore */ address);
    const show = (name: string): void => {
      const element = document.createElement("minisgl-animation") as AnimationElement;
      element.setAttribute("name", name);
      element.setAttribute("lang", lang());
      element.trace = trace;
      element.code = this.code();
      for (const button of choice.children) button.setAttribute("aria-pressed", String((button as HTMLElement).dataset.name === name));
      this.stage.replaceChildren(...(names.length > 1 ? [choice, element] : [element]));
    };
    const choice = h(
      "div",
      { class: "choice", role: "group", "aria-label": t("run_view") },
      names.map((name) => h("button", { class: "btn", type: "button", "data-name": name, click: () => show(name) }, t(`view_${name}`))),
    );
    show(names[0] ?? "");
    this.box.hidden = false;
  }

  private async generate(): Promise<void> {
    if (this.button.getAttribute("aria-disabled") === "true") return;
    this.button.setAttribute("aria-disabled", "true");
    const python = await runner().catch(() => null);
    if (!python) {
      say(this.status, t("runner_failed"));
      this.button.removeAttribute("aria-disabled");
      return;
    }
    const before = [...this.streams.childNodes];
    const prompts = this.alone ? [] : this.exercise.prompts;
    const rows = prompts.map((prompt, index) => streamRow(index, prompt, "", ""));
    this.streams.replaceChildren(...rows.map((row) => row.element));
    const stop = python.listen({
      onState: (state) => sayState(this.status, state, t(this.alone ? "run_own_running" : "run_running")),
      onToken: ({ index, text }) => rows[index]?.out.append(text),
    });
    try {
      const request = { exercise: this.exercise, code: this.code(), prompts, maxTokens: MOST_TOKENS, trace: true };
      const report = await python.generate(request, this.alone ? { seconds: ALONE_S } : {});
      this.showReport(report, rows);
    } catch (error) {
      this.streams.replaceChildren(...before);
      say(this.status, whyNot(error, python.state));
    } finally {
      stop();
      this.button.removeAttribute("aria-disabled");
    }
  }

  private showReport(report: GenerateReport, rows: StreamRow[]): void {
    const wrong = report.cannot?.message[lang()] ?? report.error?.message[lang()] ?? (report.stopped ? stoppedWords(report.stopped) : null);
    if (wrong) {
      this.status.replaceChildren(h("span", { class: "wrong tinted" }, icon("wrong")), " ", ...h("span", {}, rich(wrong)).childNodes);
    } else {
      const { pages, tokensEqual, tokensPerSecond, trace } = report;
      const told = [this.alone ? t("run_own_steps", { n: trace.length }) : t("run_speed", { speed: tokensPerSecond.toFixed(0) })];
      if (pages) told.push(t(pages.leaked ? "run_pages_leaked" : "run_pages", { ...pages }));
      if (tokensEqual !== null) told.push(t(tokensEqual ? "run_equal" : "run_unequal"));
      say(this.status, told.join(" · "));
    }
    report.texts.forEach((text, index) => {
      const row = rows[index];
      if (!row) return;
      row.out.textContent = text;
      const cached = report.cached[index] ?? 0;
      row.note.textContent = t(cached ? "stream_cached" : "stream_tokens", { n: report.tokens[index]?.length ?? 0, cached });
    });
    this.facts.replaceChildren(...this.whose(), t("run_here"));
    this.stage.replaceChildren(); // what another version of the code did is not shown beside this one's words
    void this.play(report.trace);
  }
}
