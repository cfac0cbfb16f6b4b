/** The verdict: what was judged, what broke, what the engine did with the function. */

import { type Children, h, icon, rich, round } from "../dom";
import { counts, type ExerciseData, type Group, look, type Result, type Verdict } from "../types";
import { lang, t } from "../words";
import { generation } from "./stream";

export interface Shown {
  id: number;
  attempt: number;
  /** The editor holds other code by now. */
  changed: boolean;
  acts: HTMLElement | null;
  hints: HTMLElement | null;
}

export interface Judging {
  stage: "received" | "unit" | "engine";
  place?: number | undefined;
  again?: boolean | undefined;
  group?: { k: number; n: number } | undefined;
  live: HTMLElement | null;
}

export const points = (exercise: ExerciseData, score: number): string => round(score * exercise.points);

/** Verdict and points in one line, as beside the Submit button. */
export function line(exercise: ExerciseData, verdict: Verdict, score: number): HTMLElement {
  const tail = counts(verdict) ? t("verdict_points", { got: points(exercise, score), all: exercise.points }) : "";
  return h("span", { class: `${look(verdict)} tinted` }, icon(look(verdict)), `${t(`v_${verdict}`)}${tail}`);
}

export class VerdictBox {
  constructor(
    private readonly box: HTMLElement,
    private readonly exercise: ExerciseData,
    private readonly prefix: string,
  ) {}

  focus(): void {
    const heading = this.box.querySelector<HTMLElement>(".v-word");
    heading?.focus({ preventScroll: true });
    heading?.scrollIntoView({ block: "nearest" });
  }

  draft(): void {
    this.show(
      "draft",
      h("header", { class: "v-head" }, this.heading(t("draft_head"), "wait")),
      h("p", {}, t(this.exercise.place === "none" ? "draft_text_none" : "draft_text")),
    );
  }

  judging({ stage, place, group, again, live }: Judging): void {
    const order = ["received", "unit", "engine"] as const;
    const now = order.indexOf(stage);
    const words = {
      received: place ? t(again ? "again" : "place", { n: place }) : t("received"),
      unit: group ? t("unit_group", group) : t("unit"),
      engine: t("engine"),
    };
    const steps = (this.exercise.place === "none" ? order.slice(0, 2) : order).map((name, at) => {
      const state = at < now ? "done" : at === now ? "now" : "later";
      const picture = at < now ? "check" : at === now ? "wait" : "dash";
      const text = at < now && name === "received" ? t("received") : words[name];
      return h("li", { class: state, "aria-current": at === now ? "step" : null }, icon(picture), h("span", { class: "num" }, text));
    });
    this.show(
      "fault",
      h("header", { class: "v-head" }, this.heading(t("judging"), "wait", "turn")),
      h("ol", { class: "track" }, steps),
      again ? h("p", {}, t("again_interrupted")) : null,
      live,
      h("p", { class: "small" }, t("go_on")),
    );
  }

  result(result: Result, shown: Shown): void {
    const { verdict } = result;
    const head = h(
      "header",
      { class: "v-head" },
      this.heading(t(`v_${verdict}`), look(verdict)),
      counts(verdict)
        ? h("p", { class: "v-pts num" }, points(this.exercise, result.score), h("span", { class: "of" }, ` / ${this.exercise.points}`))
        : null,
      h("p", { class: "v-facts num" }, this.facts(result, shown)),
    );
    const note = shown.changed ? h("p", { class: "small" }, t("changed")) : null;
    const text = generation(this.exercise, result.engine);
    if (verdict === "AC") {
      const columns = h("div", { class: "v-cols" }, unitColumn(result, "unit_head"), engineColumn(result));
      this.show("ok", head, message(result), note, columns, times(result), text, shown.acts);
    } else if (verdict === "SE") {
      const code = h("p", { class: "small" }, t("fault_code", { code: `SE-${shown.id}-${shown.attempt}` }));
      this.show("fault", head, message(result), h("p", {}, t("fault_text")), shown.acts, code);
    } else {
      const why = h("div", { class: "v-why" }, this.ruleThatBroke(result), cause(result), times(result), shown.hints, shown.acts, note);
      const side = h("div", { class: "v-groups" }, result.groups.length ? unitColumn(result, "groups_head") : null, engineColumn(result));
      const split = result.groups.length > 0 || result.engine !== null;
      this.show(look(verdict), head, split ? h("div", { class: "v-split" }, why, side) : why, text);
    }
  }

  private show(kind: string, ...children: Children): void {
    this.box.className = `verdict ${kind}`;
    this.box.replaceChildren(...h("div", {}, ...children).childNodes);
  }

  private heading(text: string, picture: string, extra = ""): HTMLElement {
    return h("h2", { id: `${this.prefix}verdict-h`, class: "v-word", tabindex: "-1" }, icon(picture, extra), text);
  }

  private facts(result: Result, { id, attempt }: Shown): string {
    const { memory_mb } = this.exercise.limits;
    const parts = [t("facts_id", { id })];
    if (attempt > 1) parts.push(t("facts_attempt", { n: attempt }));
    if (result.seconds) parts.push(t("facts_seconds", { seconds: round(result.seconds, 2) }));
    if (result.memory_mb) parts.push(t("facts_memory", { used: Math.round(result.memory_mb), limit: memory_mb }));
    if (result.isolation) parts.push(t("facts_isolation", { name: result.isolation }));
    return parts.join(" · ");
  }

  private ruleThatBroke(result: Result): HTMLElement[] {
    const rule = result.rule === null ? undefined : this.exercise.rules[String(result.rule)];
    if (rule === undefined) return [h("h3", {}, t("what_happened")), message(result)];
    const shown = h("p", { class: "rule" }, h("span", { class: "no num" }, String(result.rule)), h("span", {}, rich(rule)));
    return [h("h3", {}, t("rule_head")), shown, message(result)];
  }
}

const message = (result: Result): HTMLElement => h("p", { class: "v-message" }, rich(result.message[lang()]));

function cause(result: Result): HTMLElement[] {
  if (result.diagnosis) return [h("h3", {}, t("cause")), h("p", {}, rich(result.diagnosis[lang()]))];
  return result.rule === null ? [] : [h("p", { class: "small" }, t("no_diagnosis"))];
}

function times(result: Result): HTMLElement | null {
  const kind = look(result.verdict);
  if (!result.times.length || (kind !== "ok" && kind !== "limit")) return null;
  const ms = (seconds: number): string => `${round(seconds * 1000, 1)} ms`;
  const most = Math.max(...result.times.map((row) => row.seconds));
  const cell = (text: string): HTMLElement => h("td", { class: "num" }, text);
  return h(
    "table",
    { class: "times" },
    h("caption", {}, t("times")),
    h("thead", {}, h("tr", {}, ["times_size", "times_yours", "times_reference"].map((key) => h("th", { scope: "col" }, t(key))), h("td"))),
    h(
      "tbody",
      {},
      result.times.map((row) => {
        const bar = h("meter", { class: "bar", min: 0, max: most || 1, value: row.seconds, "aria-hidden": "true" });
        return h("tr", {}, h("th", { scope: "row", class: "num" }, row.size.toLocaleString("en")), cell(ms(row.seconds)), cell(ms(row.reference)), h("td", {}, bar));
      }),
    ),
  );
}

function unitColumn(result: Result, title: string): HTMLElement {
  const sum = (name: "passed" | "total"): number => result.groups.reduce((total, group) => total + group[name], 0);
  const cases = h("span", { class: "small num" }, t("cases", { passed: sum("passed"), total: sum("total") }));
  const alone = title === "groups_head" ? h("p", { class: "small" }, t("groups_alone")) : null;
  return h("div", {}, h("h3", {}, t(title), cases), h("ol", { class: "groups" }, result.groups.map(groupRow)), alone);
}

function groupRow(group: Group, at: number): HTMLElement {
  const kind = group.verdict === null ? "" : look(group.verdict);
  const picture = { ok: "check", wrong: "cross", limit: "limit", fault: "fault", "": "dash" }[kind];
  return h(
    "li",
    { class: kind },
    h("span", { class: "g-no num" }, String(at + 1)),
    h("span", { class: "g-name" }, group.title[lang()]),
    h("span", { class: "g-state" }, icon(picture), t(`g_${group.verdict ?? "none"}`)),
    h("span", { class: "g-cases num" }, String(group.passed), h("span", { class: "of" }, `/${group.total}`)),
  );
}

function engineColumn(result: Result): HTMLElement | null {
  const { engine } = result;
  if (!engine) return null;
  const check = (good: boolean, name: string, text: string): HTMLElement =>
    h("div", { class: good ? "ok" : "wrong" }, h("dt", {}, icon(good ? "check" : "cross"), name), h("dd", { class: "num" }, text));
  const pages = { total: engine.pages_total, free: engine.pages_free, cached: engine.pages_cached };
  const tokens = { equal: engine.tokens_matching, total: engine.tokens };
  const state = h("span", { class: `small ${look(engine.verdict)}` }, h("span", { class: "tinted" }, t(`g_${engine.verdict}`)));
  return h(
    "div",
    {},
    h("h3", {}, t("in_engine"), state),
    h(
      "dl",
      { class: "checks" },
      check(engine.tokens_equal, t("tokens"), t(engine.tokens_equal ? "tokens_all" : "tokens_some", tokens)),
      engine.pages_total === 0 // the one-file engine has none
        ? null
        : check(engine.pages_balanced, t("pages"), t(engine.pages_balanced ? "pages_ok" : "pages_bad", pages)),
      engine.speed_ratio === null ? null : check(true, t("speed"), t("speed_of", { ratio: round(engine.speed_ratio, 2) })),
    ),
  );
}
