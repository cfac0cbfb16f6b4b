/** Text that the engine writes: as it comes while judging or in the tab, and again from the result. */

import { h, icon, reducedMotion, rich } from "../dom";
import type { Engine, ExerciseData } from "../types";
import { t } from "../words";

const PIECE_MS = 45;
const PIECE =
  /\s*[\u3400-\u9fff\uff00-\uffef\u3000-\u303f]|\s*[^\s\u3400-\u9fff\uff00-\uffef\u3000-\u303f]+|\s+/gu;

const who = (index: number): HTMLElement => h("span", { class: `who r${index % 5}` }, `r${index}`);

export interface StreamRow {
  element: HTMLLIElement;
  out: HTMLElement;
  note: HTMLElement;
}

export function streamRow(index: number, prompt: string, text: string, note: string): StreamRow {
  const out = h("span", { class: "out" }, text);
  const about = h("span", { class: "num small" }, note);
  const element = h("li", {}, who(index), h("p", {}, prompt ? h("span", { class: "prompt" }, prompt) : null, out), about);
  return { element, out, note: about };
}

export const credit = (exercise: ExerciseData): (Node | string)[] => [
  t("generated_1"),
  h("mark", {}, rich(t("generated_2", { name: exercise.name }))),
  t("generated_3"),
];

/** The streams of a run that is going on; `add` takes the judge's events of type token. */
export class Live {
  private readonly list = h("ol", { class: "streams" });
  private readonly section: HTMLElement;
  private readonly rows = new Map<number, StreamRow>();

  constructor(exercise: ExerciseData) {
    this.section = h("section", { class: "gen", "aria-label": t("generated_label") }, h("h3", {}, credit(exercise)), this.list);
  }

  add({ request = 0, prompt = "", text = "" }: { request?: number; prompt?: string; text?: string }): void {
    let row = this.rows.get(request);
    if (!row) {
      row = streamRow(request, prompt, "", "");
      this.rows.set(request, row);
      this.list.append(row.element);
    }
    row.out.append(text);
  }

  get element(): HTMLElement | null {
    return this.rows.size ? this.section : null;
  }
}

/** What the engine wrote with the learner's function in it, with a button that plays it again. */
export function generation(exercise: ExerciseData, engine: Engine | null): HTMLElement | null {
  if (!engine?.texts.length) return null;
  const rows = engine.texts.map(({ prompt, text, tokens, cached }, index) =>
    streamRow(index, prompt, text, t(cached ? "stream_cached" : "stream_tokens", { n: tokens, cached })),
  );
  const play = (): void => replay(rows.map((row) => row.out), engine.texts.map(({ text }) => text));
  const again = h("button", { class: "btn plain", type: "button", click: play }, icon("again"), t("stream_again"));
  const model = engine.model ? h("p", { class: "small" }, t("model", { model: engine.model, device: engine.device })) : null;
  return h(
    "section",
    { class: "gen", "aria-label": t("generated_label") },
    h("h3", {}, credit(exercise), again),
    h("ol", { class: "streams" }, rows.map((row) => row.element)),
    model,
  );
}

let playing: ReturnType<typeof setInterval> | undefined;

function replay(outs: HTMLElement[], texts: string[]): void {
  clearInterval(playing);
  if (reducedMotion()) return;
  const pieces = texts.map((text) => text.match(PIECE) ?? []);
  let at = 0;
  playing = setInterval(() => {
    at += 1;
    outs.forEach((out, index) => {
      out.textContent = (pieces[index] ?? []).slice(0, at).join("");
    });
    if (pieces.every((list) => at >= list.length)) clearInterval(playing);
  }, PIECE_MS);
}
