/** The public samples, each shown in full, whether they ran in the tab or at the judge. */

import type { SampleResult, SamplesReport, Stopped } from "../../runner/types";
import { h, icon, plainCode, rich } from "../dom";
import { heardWords, type Loading, loadingWords } from "../loading";
import type { JudgedSample, Result } from "../types";
import { lang, t } from "../words";
import type { DeskParts } from "./layout";

type Row = SampleResult | JudgedSample;

export interface SamplesEnd {
  passed: number;
  total: number;
  /** What is to be said instead of a count: the file cannot run, or it was stopped. */
  instead: string | null;
  broke: number[];
}

export class Samples {
  private rows: Row[] = [];

  constructor(private readonly parts: DeskParts) {}

  idle(): void {
    this.tell(t("samples_none"));
  }

  /** Nothing has run yet, and Python is on its way: which step, and how much of it. */
  loading(state: Loading): void {
    this.tell(loadingWords(state), "wait");
    this.hear(heardWords(state));
  }

  running(): void {
    this.rows = [];
    this.tell(t("samples_running"), "wait");
    this.hear(t("samples_running"));
  }

  /** A sample that has ended while others still run. */
  add(result: SampleResult): void {
    this.rows.push(result);
    this.draw("");
  }

  fromTab(report: SamplesReport): SamplesEnd {
    this.hear("");
    const { results, cannot, stopped } = report;
    this.rows = results;
    const ms = Math.round(results.reduce((sum, one) => sum + one.seconds, 0) * 1000);
    const passed = results.filter((one) => one.ok).length;
    const instead = cannot ? cannot.message[lang()] : stopped ? stoppedWords(stopped) : null;
    this.draw(results.length ? t("samples_tab", { passed, total: results.length, ms }) : "", instead);
    const broke = cannot?.line ?? (stopped?.why === "time" ? stopped.line : null);
    return {
      passed,
      total: results.length,
      instead,
      broke: [broke, ...results.filter((one) => !one.ok).map((one) => one.line)].filter((line): line is number => line !== null),
    };
  }

  /** `alone`: only samples were run, so that the time of the run is theirs. */
  fromJudge(result: Result, alone: boolean): SamplesEnd {
    this.rows = result.samples;
    const passed = result.samples.filter((one) => one.ok).length;
    const total = result.samples.length;
    const instead = total ? null : result.message[lang()];
    const count = t(alone ? "samples_run" : "samples_passed", { passed, total, ms: Math.round(result.seconds * 1000) });
    this.draw(total ? count : "", instead);
    const lines = result.samples.filter((one) => !one.ok).map((one) => one.line);
    return { passed, total, instead, broke: [result.line, ...lines].filter((line): line is number => line !== null) };
  }

  /** The box is no live region, for a list of samples is too much to hear; how they ended is said beside the buttons. */
  private hear(text: string): void {
    const { samplesHeard } = this.parts;
    if (samplesHeard.textContent !== text) samplesHeard.textContent = text;
  }

  private tell(text: string, picture = ""): void {
    this.parts.samplesCount.textContent = "";
    this.parts.samplesBox.replaceChildren(h("p", { class: "small" }, picture ? icon(picture, "turn") : null, picture ? " " : null, text));
  }

  private draw(count: string, instead: string | null = null): void {
    this.parts.samplesCount.textContent = count;
    const message = instead
      ? h("p", { class: "wrong instead" }, h("span", { class: "tinted" }, icon("wrong")), " ", rich(instead))
      : null;
    const list = this.rows.length ? h("ul", { class: "sample-list" }, this.rows.map((row, index) => entry(row, index + 1))) : null;
    this.parts.samplesBox.replaceChildren(...[message, list].filter((one) => one !== null));
  }

  /** How the run of the samples ended, in one line. */
  static words(end: SamplesEnd): { look: "ok" | "wrong"; text: string } {
    if (end.instead) return { look: "wrong", text: end.instead };
    const failed = end.total - end.passed;
    if (failed) return { look: "wrong", text: t("samples_some", { total: end.total, failed }) };
    return { look: "ok", text: t("samples_all", { total: end.total }) };
  }
}

export function stoppedWords(stopped: Stopped): string {
  if (stopped.why === "time") {
    const seconds = String(Number(stopped.seconds.toFixed(1)));
    if (stopped.line === null) return t("stopped_time", { seconds });
    if (stopped.hits === null) return t("stopped_time_at", { seconds, line: stopped.line });
    return t("stopped_time_line", { seconds, line: stopped.line, hits: stopped.hits === 1 ? 1 : stopped.hits.toLocaleString("en") });
  }
  if (stopped.why === "output") return t("stopped_output", { kb: Math.round(stopped.bytes / 1024) });
  return t(`stopped_${stopped.why}`);
}

function entry(sample: Row, number: number): HTMLLIElement {
  const seconds = "seconds" in sample ? sample.seconds : null;
  return h(
    "li",
    { class: sample.ok ? "ok" : "wrong" },
    h(
      "div",
      { class: "s-row" },
      icon(sample.ok ? "check" : "cross"),
      h("span", { class: "vh" }, t(sample.ok ? "passed" : "failed")),
      h("span", { class: "num of" }, String(number)),
      h("span", { class: "s-name" }, sample.title[lang()] ?? sample.name),
      seconds === null ? null : h("span", { class: "num s-ms" }, `${Math.round(seconds * 1000)} ms`),
    ),
    sample.ok && !sample.stdout ? null : detail(sample),
  );
}

function detail(sample: Row): HTMLElement {
  const pair = (label: string, value: string | null, other: string | null): HTMLElement[] =>
    value ? [h("dt", {}, label), h("dd", { class: "mono" }, ...marked(value, other))] : [];
  const pairs = [...pair(t("expected"), sample.expected, sample.got), ...pair(t("got"), sample.got, sample.expected)];
  const words = sample.message?.[lang()];
  return h(
    "div",
    { class: "s-more" },
    sample.assertion ? plainCode(t("assertion"), sample.assertion) : null,
    pairs.length ? h("dl", { class: "diff" }, pairs) : null,
    words ? h("p", {}, rich(words)) : null,
    sample.stdout ? h("div", {}, h("p", { class: "small" }, t("printed")), plainCode(t("printed"), sample.stdout)) : null,
  );
}

/** `value` with what differs from `other` marked: all between the common beginning and the common end. */
export function marked(value: string, other: string | null): (Node | string)[] {
  if (!other || value.length > 2000) return [value];
  let start = 0;
  while (start < value.length && start < other.length && value[start] === other[start]) start += 1;
  let end = 0;
  const most = Math.min(value.length, other.length) - start;
  while (end < most && value[value.length - 1 - end] === other[other.length - 1 - end]) end += 1;
  const middle = value.slice(start, value.length - end);
  if (!middle || middle.length === value.length) return [value];
  return [value.slice(0, start), h("b", {}, middle), value.slice(value.length - end)];
}
