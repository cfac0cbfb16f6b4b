/** The desk's fixed parts: head, editor, keys, buttons, samples, verdict. */

import { h, icon, plainCode } from "../dom";
import type { ExerciseData } from "../types";
import { t } from "../words";

export const KEYS = ["Tab", "(", ")", "[", "]", ":", "_", "=", '"', "#"] as const;

export interface DeskParts {
  editor: HTMLElement;
  host: HTMLElement;
  saved: HTMLElement;
  note: HTMLElement;
  panel: HTMLElement;
  keys: HTMLElement;
  run: HTMLButtonElement;
  /** Ends the samples' run, once it takes a while. */
  stop: HTMLButtonElement;
  submit: HTMLButtonElement;
  history: HTMLButtonElement;
  diff: HTMLButtonElement;
  over: HTMLButtonElement;
  last: HTMLElement;
  samples: HTMLElement;
  samplesCount: HTMLElement;
  samplesBox: HTMLElement;
  samplesHeard: HTMLElement;
  verdict: HTMLElement;
}

/** `prefix` keeps the ids of several desks in one page apart; a page with one desk has none. */
export function layout(exercise: ExerciseData, prefix: string): DeskParts {
  const id = (name: string): string => prefix + name;
  const tool = (name: string, words: string): HTMLButtonElement =>
    h("button", { class: "btn plain", type: "button", id: id(name) }, words);
  const saved = h("span", { class: "small", id: id("saved") });
  const history = tool("history", t("history"));
  const diff = tool("diff", t("diff"));
  const over = tool("start-over", t("start_over"));
  const note = h("div", { class: "ed-note", id: id("other-window"), role: "alert", hidden: true });
  const panel = h("div", { class: "ed-panel", id: id("panel"), hidden: true });
  const host = h("div", { class: "ed-body", id: id("code") });
  const keys = h(
    "div",
    { class: "keys", role: "group", "aria-label": t("keys") },
    KEYS.map((key) => h("button", { type: "button", "data-key": key }, key)),
  );
  const run = h("button", { class: "btn", type: "button", id: id("run-samples") }, icon("play"), h("span", {}, t("run_samples")), h("kbd", {}, "Ctrl Enter"));
  const stop = h("button", { class: "btn", type: "button", id: id("stop-samples"), hidden: true }, icon("stop"), t("stop"));
  const submit = h("button", { class: "btn main", type: "button", id: id("submit") }, t("submit"), h("kbd", {}, "Ctrl Shift Enter"));
  const last = h("p", { class: "lasts", id: id("last"), role: "status" });
  const editor = h(
    "div",
    { class: "editor" },
    h("div", { class: "ed-head" }, h("span", { class: "mono ed-file" }, icon("file"), exercise.filename), saved, h("span", { class: "ed-tools" }, history, diff, over)),
    note,
    panel,
    host,
    h("p", { class: "small ed-help", id: id("editor-help") }, t("editor_help")),
    keys,
    h("div", { class: "ed-foot" }, h("span", { class: "ed-btns" }, run, stop, submit), last),
  );
  const samplesCount = h("span", { class: "small num", id: id("samples-count") });
  const samplesBox = h("div", { id: id("samples") });
  const samplesHeard = h("p", { class: "vh", role: "status" });
  const source = plainCode(t("samples_source"), exercise.samples);
  const samples = h(
    "section",
    { class: "samples", "aria-labelledby": id("samples-h") },
    h("h2", { id: id("samples-h"), class: "sec" }, t("samples"), samplesCount),
    samplesBox,
    samplesHeard,
    h("details", { class: "source" }, h("summary", {}, t("samples_source")), source),
  );
  const verdict = h("section", { class: "verdict draft", id: id("verdict"), "aria-labelledby": id("verdict-h") });
  return { editor, host, saved, note, panel, keys, run, stop, submit, history, diff, over, last, samples, samplesCount, samplesBox, samplesHeard, verdict };
}
