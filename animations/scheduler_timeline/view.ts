/** Requests by step, with the gauges of the step's tokens and of the pool. */

import { h, setText } from "../dom";
import { ownerClass } from "../player/owners";
import { name } from "../trace";
import type { Context, TraceEvent, View } from "../types";
import { note } from "../words";
import { promised, type Request, type TimelineState } from "./fold";

const MOST_ROWS = 12;
const [LEAST_CELL, LABEL] = [30, 132];

export function view(stage: HTMLElement, _events: readonly TraceEvent[], context: Context): View<TimelineState> {
  return new TimelineView(stage, context);
}

class TimelineView implements View<TimelineState> {
  private readonly gauges = h("div", { class: "gauges" });
  private readonly grid = h("div", { class: "grid", role: "img" });
  private readonly more = h("p", { class: "more", hidden: true });
  private readonly keys: HTMLElement;
  private state: TimelineState | null = null;
  private width = 0;
  private rows = 0;

  constructor(
    private readonly stage: HTMLElement,
    private readonly context: Context,
  ) {
    this.keys = h(
      "p",
      { class: "keys" },
      ...["prefill", "decode", "waits", "refused", "ends"].map((key) =>
        h("span", {}, h("i", { class: `key ${key}` }), context.word(`scheduler_timeline_key_${key}`)),
      ),
    );
    stage.append(this.gauges, this.grid, this.more, this.keys);
  }

  survey(state: TimelineState): void {
    this.rows = Math.max(this.rows, Math.min(MOST_ROWS, state.reqs.length));
    this.grid.style.minHeight = `${this.rows * 31 + 20}px`;
  }

  update(state: TimelineState): void {
    this.state = state;
    this.showGauges(state);
    this.showGrid(state);
  }

  resize(): void {
    if (this.state && this.stage.clientWidth !== this.width) this.showGrid(this.state);
  }

  private showGauges(state: TimelineState): void {
    const column = state.columns[state.columns.length - 1];
    const most = state.budget || Math.max(1, ...state.columns.map((one) => one.tokens));
    const binds = state.gate?.why;
    const tokens = column?.tokens ?? 0;
    const budget = this.gauge("scheduler_timeline_gauge_tokens", most, binds === "token budget", [["held", tokens]]);
    const due = promised(state);
    const [held, cached] = [Math.max(0, state.taken - state.cached), Math.max(0, state.cached)];
    const parts: [string, number][] = [["held", held], ["cached", cached], ["promised", state.gate ? Math.max(due, state.gate.reserved - held) : due]];
    const memory = this.gauge("scheduler_timeline_gauge_pool", state.total, binds === "memory", parts);
    this.gauges.replaceChildren(budget, memory);
  }

  private gauge(key: string, total: number, binds: boolean, parts: [string, number][]): HTMLElement {
    const bar = h("div", { class: "bar" });
    for (const [kind, size] of parts) {
      const part = h("i", { class: kind });
      part.style.width = `${Math.min(100, (100 * size) / Math.max(1, total))}%`;
      bar.append(part);
    }
    const said = parts.map(([kind, size]) => `${this.context.word(`scheduler_timeline_${kind}`)} ${size}`);
    const words = this.context.say(note(key, { parts: said, total }));
    return h("div", { class: binds ? "gauge binds" : "gauge" }, h("p", {}, words), bar);
  }

  private showGrid(state: TimelineState): void {
    this.width = this.stage.clientWidth;
    const room = Math.max(4, Math.floor(((this.width || 700) - LABEL) / LEAST_CELL));
    const last = state.columns.length - 1;
    const from = Math.max(0, Math.min(last + 2 - room, state.columns.length));
    const to = Math.max(from + room, 1);
    const rows = state.reqs.filter((one) => one.to === null || one.to >= from);
    const shown = rows.slice(0, MOST_ROWS);
    this.grid.style.setProperty("--n", String(room));
    this.grid.setAttribute("aria-label", this.describe(state));
    const cells: HTMLElement[] = [h("span", { class: "corner" }, this.context.word("scheduler_timeline_step"))];
    for (let column = from; column < to; column += 1) {
      const one = state.columns[column];
      const mark = `head${column === last ? " now" : ""}${one ? "" : " later"}`;
      cells.push(h("span", { class: mark }, String(column + 1)));
    }
    for (const one of shown) {
      cells.push(this.label(one, state));
      for (let column = from; column < to; column += 1) cells.push(this.cell(one, column, state));
    }
    this.grid.replaceChildren(...cells);
    this.more.hidden = rows.length <= MOST_ROWS;
    setText(this.more, this.more.hidden ? "" : this.context.say(note("scheduler_timeline_more", { n: rows.length - MOST_ROWS })));
  }

  private label(one: Request, state: TimelineState): HTMLElement {
    const who = h("span", { class: `who ${one.admitted === null ? "free" : ownerClass(name(one.uid), state.order)}` }, name(one.uid));
    const key = one.state === "waiting" ? "waiting" : one.state === "running" ? "running" : one.state;
    const said = this.context.say(note(`scheduler_timeline_${key}`, { n: one.generated, of: one.output, len: one.input, output: one.output }));
    return h("span", { class: "label" }, who, h("span", { class: "said" }, said));
  }

  private cell(one: Request, column: number, state: TimelineState): HTMLElement {
    const tokens = one.cells[column];
    const why = one.refused[column];
    const next = column === state.columns.length;
    const colour = ownerClass(name(one.uid), state.order);
    if (tokens !== undefined) {
      const kind = tokens > 0 ? "prefill" : "decode";
      const ends = one.to === column ? " ends" : "";
      return h("span", { class: `slot ${kind} ${colour}${ends}` }, String(Math.abs(tokens)));
    }
    if (why !== undefined && (column < state.columns.length || next)) {
      const gate = state.gate?.uid === one.uid && next ? " gate" : "";
      return h("span", { class: `slot refused${gate}`, title: this.context.word(`scheduler_timeline_why_${why.replace(" ", "_")}`) });
    }
    const waits = column >= one.from && (one.admitted === null || column < one.admitted || one.retracted.some((at) => at <= column));
    const over = one.to !== null && column > one.to;
    return h("span", { class: `slot${waits && !over && column < state.columns.length ? " waits" : ""}` });
  }

  private describe(state: TimelineState): string {
    const parts = state.reqs.slice(0, 16).map((one) =>
      this.context.say(note("scheduler_timeline_described_one", {
        req: name(one.uid),
        state: this.context.word(`scheduler_timeline_state_${one.state}`),
        n: one.generated,
        of: one.output,
      })),
    );
    return this.context.say(note("scheduler_timeline_described", { k: state.columns.length, reqs: parts }));
  }
}
