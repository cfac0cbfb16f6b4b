/** The pool as cells, the row of the call as a ruler, and wires from one to the other. */

import { h, s, setText } from "../dom";
import { legend, ownerClass, ownerWord, shortNames } from "../player/owners";
import { counts, name, uid } from "../trace";
import type { Context, TraceEvent, View } from "../types";
import { note } from "../words";
import { namedBy, owned, tally, type Call, type PoolState } from "./state";

const MOST_CELLS = 256;
/** Pages with more tokens than this show them as a bar. */
const MOST_PARTS = 8;
const LEAST_WIRED = 27;
/** In narrower cells words are smaller. */
const ROOMY = 36;
const LEAST_CELL = 44;

interface Cell {
  element: HTMLElement;
  owner: HTMLElement;
  fill: HTMLElement;
  by: HTMLElement;
}

export function view(stage: HTMLElement, events: readonly TraceEvent[], context: Context): View<PoolState> {
  return new PoolView(stage, events, context);
}

class PoolView implements View<PoolState> {
  private readonly pool = h("div", { class: "pool", role: "img" });
  private readonly balance = h("p");
  private readonly rest = h("p", { class: "rest", hidden: true });
  private readonly label = h("p", { class: "rowlabel" });
  private readonly row = h("div", { class: "rowview" });
  private readonly wires = s("svg", { class: "wires", "aria-hidden": "true" });
  private readonly order: number[];
  private cells: Cell[] = [];
  private state: PoolState | null = null;
  private readonly mine: boolean;

  constructor(
    private readonly stage: HTMLElement,
    events: readonly TraceEvent[],
    private readonly context: Context,
  ) {
    this.order = [...new Set(events.filter((event) => event.type === "admitted").map((event) => uid(event) ?? 0))];
    this.mine = events.some((event) => typeof event.line === "number");
    const owners = ["free", "cache", ...this.order.slice(0, 5).map(name)];
    const facts = h("div", { class: "facts" }, this.balance, legend(owners, this.order, context));
    const rowpart = h("div", { class: "rowpart" }, this.label, this.row);
    stage.append(facts, this.pool, this.rest, rowpart, this.wires);
    this.highest = Math.max(-1, ...events.map(highestOf));
  }

  /** Highest location that the trace names: pages beyond it stay free and need no cell. */
  private readonly highest: number;

  update(state: PoolState): void {
    this.state = state;
    if (this.cells.length === 0) this.build(state);
    const of = tally(state);
    const key = of.lost > 0 ? "kv_pool_balance_lost" : "kv_pool_balance";
    setText(this.balance, this.context.say(note(key, { ...of, total: state.pages.length })));
    this.cells.forEach((cell, i) => this.showCell(cell, state, i));
    this.pool.setAttribute("aria-label", this.describe(state));
    this.showRow(state.call);
    this.resize();
  }

  resize(): void {
    const count = this.cells.length;
    const width = this.pool.clientWidth;
    if (count === 0 || width === 0) return;
    const single = count <= 24 && (width + 4) / count - 4 >= LEAST_WIRED;
    const columns = single ? count : Math.max(4, Math.min(count, Math.floor((width + 4) / (LEAST_CELL + 4))));
    this.pool.style.setProperty("--cols", String(columns));
    this.stage.classList.toggle("packed", !single);
    this.stage.classList.toggle("tight", single && (width + 4) / count - 4 < ROOMY);
    this.drawWires();
  }

  private build(state: PoolState): void {
    const used = Math.min(state.pages.length, Math.max(8, Math.floor(this.highest / state.size) + 1));
    const shown = state.pages.length <= 48 ? state.pages.length : Math.min(used, MOST_CELLS);
    const parts = state.size <= MOST_PARTS ? state.size : 1;
    this.pool.style.setProperty("--size", String(parts));
    for (let i = 0; i < shown; i += 1) {
      const fill = h("div", { class: parts === 1 ? "fill bar" : "fill" });
      for (let part = 0; part < parts; part += 1) fill.append(h("i"));
      const [owner, by] = [h("span"), h("span", { class: "by" })];
      const at = h("span", { class: "at" }, String(i * state.size));
      const element = h("div", { class: "cell" }, at, h("div", { class: "box" }, owner, fill), by);
      this.cells.push({ element, owner, fill, by });
      this.pool.append(element);
    }
    const more = state.pages.length - shown;
    this.rest.hidden = more <= 0;
    const key = used <= shown ? "kv_pool_rest" : "kv_pool_rest_hidden";
    setText(this.rest, more > 0 ? this.context.say(note(key, { n: more })) : "");
  }

  private showCell(cell: Cell, state: PoolState, i: number): void {
    const page = state.pages[i];
    if (!page) return;
    const marks = `${page.touched ? " touched" : ""}${page.freed ? " freed" : ""}`;
    cell.element.className = `cell ${ownerClass(page.owner, this.order)}${marks}`;
    setText(cell.owner, ownerWord(page.owner, this.context));
    const bar = cell.fill.classList.contains("bar");
    [...cell.fill.children].forEach((part, j) => {
      if (bar) (part as HTMLElement).style.width = `${(100 * page.fill) / state.size}%`;
      else part.classList.toggle("in", j < page.fill);
    });
    setText(cell.by, page.owner === "cache" ? shortNames(namedBy(state, i * state.size)) : "");
  }

  private describe(state: PoolState): string {
    const parts = ["lost", "new", ...this.order.map(name), "cache"].flatMap((owner) => {
      const pages = owned(state, owner);
      return pages.length > 0 ? [`${ownerWord(owner, this.context)}: ${pages.slice(0, 24).join(" ")}`] : [];
    });
    return this.context.say(note("kv_pool_described", { pages: parts }));
  }

  private showRow(call: Call | null): void {
    this.row.replaceChildren();
    this.label.replaceChildren();
    if (!call) {
      this.row.style.setProperty("--rn", "6");
      const key = this.mine ? "kv_pool_not_running" : "kv_pool_no_call";
      this.row.append(h("p", { class: "rempty" }, this.context.word(key)));
      return;
    }
    const { say } = this.context;
    this.label.append(
      h("b", {}, say(note("kv_pool_call", { call: call.number }))),
      say(note("kv_pool_row_of", { req: name(call.req) })),
    );
    const [state, n] = [this.state as PoolState, Math.max(1, call.row.length)];
    this.row.style.setProperty("--rn", String(n));
    call.row.forEach((place, i) => {
      const owner = state.pages[Math.floor(place / state.size)]?.owner ?? "lost";
      const before = call.before[i];
      const cell = h("div", { class: `rcell ${ownerClass(owner, this.order)}${before === undefined ? "" : " moved"}` });
      cell.append(h("span", {}, before === undefined ? null : h("s", {}, String(before)), String(place)));
      cell.style.gridColumn = String(i + 1);
      this.row.append(cell);
    });
    this.ruler(call, state.size);
  }

  private ruler(call: Call, size: number): void {
    const [old, cached, fresh, length] = call.bounds;
    const ends = call.finished === null ? "" : call.finished ? "_ends" : "_goes_on";
    const spans: ["A" | "B" | "C" | "D", number, number, string][] = [
      ["A", 0, old, "kv_pool_region_a"],
      ["B", old, cached, `kv_pool_region_b${ends}`],
      ["C", cached, fresh, "kv_pool_region_c"],
      ["D", fresh, length, `kv_pool_region_d${ends}`],
    ];
    for (const [letter, from, to, key] of spans) {
      if (to <= from) continue;
      const column = `${Math.floor(from / size) + 1} / ${Math.ceil(to / size) + 1}`;
      const span = h("div", { class: `rspan ${letter}` }, h("b", {}, letter));
      const cells = Math.ceil(to / size) - Math.floor(from / size);
      span.style.gridColumn = column;
      if (to % size) span.style.marginRight = `${((1 - (to % size) / size) * 100) / cells}%`;
      const words = h("p", { class: `rnote${call.region === letter ? " now" : ""}` }, this.context.word(key));
      words.append(h("span", {}, `[${from}, ${to})`));
      words.style.gridColumn = column;
      this.row.append(span, words);
    }
  }

  private drawWires(): void {
    this.wires.replaceChildren();
    const [state, call] = [this.state, this.state?.call];
    if (!state || !call || this.stage.classList.contains("packed")) return;
    const base = this.stage.getBoundingClientRect();
    const lead = (from: Element, place: number, kind: string): void => {
      const to = this.cells[Math.floor(place / state.size)]?.by;
      if (!to) return;
      const [a, b] = [from.getBoundingClientRect(), to.getBoundingClientRect()];
      const [x1, y1] = [a.left + a.width / 2 - base.left, a.top - base.top - 2];
      const [x2, y2] = [b.left + b.width / 2 - base.left, b.bottom - base.top + 1];
      const bend = (y1 - y2) * 0.55;
      this.wires.append(s("path", { d: `M${x1} ${y1}C${x1} ${y1 - bend} ${x2} ${y2 + bend} ${x2} ${y2}`, class: kind }));
    };
    this.row.querySelectorAll(".rcell").forEach((cell, i) => {
      const before = call.before[i];
      if (before !== undefined) lead(cell, before, "gone");
      lead(cell, call.row[i] as number, before === undefined ? "is" : "again");
    });
  }
}

function highestOf(event: TraceEvent): number {
  let highest = -1;
  for (const field of ["pages", "locations", "cached"]) {
    for (const place of counts(event, field)) if (place > highest) highest = place;
  }
  return highest;
}
