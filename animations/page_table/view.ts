/** One row at full length, position over location over page; the table's other rows below. */

import { h, setText } from "../dom";
import { ownerClass } from "../player/owners";
import { name } from "../trace";
import type { Context, TraceEvent, View } from "../types";
import { note } from "../words";
import { placeOf, type Row, type TableState } from "./fold";

/** Positions of the long row that are drawn: the last ones. */
const MOST = 64;
const MOST_ROWS = 8;

export function view(stage: HTMLElement, events: readonly TraceEvent[], context: Context): View<TableState> {
  const long = h("div", { class: "scroll long", tabindex: 0, role: "group", "aria-label": context.word("page_table_row_shown") });
  const sum = h("p", { class: "sum" });
  const footprint = h("p", { class: "foot", hidden: !events.some((event) => event.type === "footprint") });
  const rows = h("div", { class: "rows" });
  const pool = h("div", { class: "mini", role: "img" });
  const poolWord = h("p", { class: "word" }, context.word("page_table_pool"));
  stage.append(footprint, long, sum, h("p", { class: "word" }, context.word("page_table_table")), rows, poolWord, pool);
  return {
    update(state) {
      const shown = state.rows.find((row) => row.req === state.shown) ?? null;
      long.replaceChildren(...(shown ? longRow(shown, state, context) : [h("p", { class: "empty" }, context.word("page_table_no_row"))]));
      setText(footprint, state.footprint ? context.say(state.footprint) : "");
      setText(sum, shown ? arithmetic(shown, state, context) : "");
      const sorted = [...state.rows].sort((a, b) => (a.slot ?? 99) - (b.slot ?? 99));
      rows.replaceChildren(...sorted.slice(0, MOST_ROWS).map((row) => shortRow(row, state, context)));
      drawPool(pool, state, context);
      const now = long.querySelector(".wrote");
      if (now instanceof HTMLElement) long.scrollLeft = now.offsetLeft - long.clientWidth / 2;
    },
  };
}

function longRow(row: Row, state: TableState, context: Context): HTMLElement[] {
  const length = Math.max(row.locations.length, row.tokens.length);
  const from = Math.max(0, Math.ceil((length - MOST) / state.size) * state.size);
  const colour = ownerClass(name(row.req), state.order);
  const grid = h("div", { class: `strip ${colour}` });
  grid.style.setProperty("--n", String(length - from));
  const labels = ["position", "token", "location", "page"].map((key) => h("span", { class: "lab" }, context.word(`page_table_${key}`)));
  const wrote = (i: number, where: "table" | "tokens"): boolean =>
    state.written.some((one) => one.req === row.req && one.where === where && i >= one.from && i < one.to);
  const lines: HTMLElement[][] = [[], [], [], []];
  for (let i = from; i < length; i += 1) {
    const [location, token] = [row.locations[i], row.tokens[i]];
    lines[0]?.push(h("span", { class: "pos-no" }, String(i)));
    lines[1]?.push(h("span", { class: `tok${wrote(i, "tokens") ? " wrote" : ""}` }, token === undefined ? "" : token === null ? "·" : String(token)));
    const unset = location === undefined || location === null;
    const kind = `loc${unset ? " unset" : ""}${wrote(i, "table") ? " wrote" : ""}${i < row.hit ? " hit" : ""}`;
    lines[2]?.push(h("span", { class: kind }, unset ? "" : String(location)));
  }
  for (let i = from; i < length; i += state.size) {
    const location = row.locations[i];
    const cell = h("span", { class: "pageno" });
    if (typeof location === "number") cell.append(context.say(note("page_table_page_no", { page: placeOf(state, location).page })));
    cell.style.gridColumn = `span ${Math.min(state.size, length - i)}`;
    lines[3]?.push(cell);
  }
  lines.forEach((cells, i) => grid.append(labels[i] as HTMLElement, ...cells));
  const head = h("p", { class: "head" }, h("span", { class: `who ${colour}` }, name(row.req)));
  head.append(" ", context.say(note("page_table_row", { row: row.slot ?? "?" })));
  return [head, grid];
}

/** Where the position written last lies: the rule of the chapter with this row's numbers. */
function arithmetic(row: Row, state: TableState, context: Context): string {
  const last = [...state.written].reverse().find((one) => one.req === row.req && one.where === "table");
  const position = last ? last.to - 1 : row.locations.length - 1;
  const location = row.locations[position];
  if (typeof location !== "number") return "";
  const { page, offset } = placeOf(state, location);
  return context.say(note("page_table_sum", { position, location, page, offset, size: state.size, index: Math.floor(position / state.size) }));
}

function shortRow(row: Row, state: TableState, context: Context): HTMLElement {
  const colour = ownerClass(name(row.req), state.order);
  const firsts: (number | null)[] = [];
  for (let i = 0; i < row.locations.length; i += state.size) firsts.push(row.locations[i] ?? null);
  const cells = firsts.slice(0, 24).map((first) => h("span", { class: `pg ${first === null ? "free" : colour}` }, first === null ? "–" : String(first)));
  const more = firsts.length > 24 ? h("span", {}, `+${firsts.length - 24}`) : null;
  const label = h("span", { class: "no" }, context.say(note("page_table_row", { row: row.slot ?? "?" })));
  return h("div", { class: row.req === state.shown ? "row shown" : "row" }, label, h("span", { class: `who ${colour}` }, name(row.req)), ...cells, more);
}

function drawPool(pool: HTMLElement, state: TableState, context: Context): void {
  const highest = Math.max(7, ...state.taken.map((first) => Math.floor(first / state.size)));
  const shown = Math.min(state.pages, Math.max(highest + 1, Math.min(state.pages, 32)), 128);
  const cells: HTMLElement[] = [];
  for (let page = 0; page < shown; page += 1) {
    const first = page * state.size;
    const named = state.rows.filter((row) => row.locations.some((at) => typeof at === "number" && at - (at % state.size) === first));
    const owner = named.length === 1 ? ownerClass(name((named[0] as Row).req), state.order) : named.length > 1 ? "cache" : "";
    const kind = owner || (state.taken.includes(first) ? "cache" : "free");
    const cached = named.length === 0 && state.taken.includes(first);
    const word = cached ? context.word("player_owner_cache") : named.map((row) => name(row.req)).join(" ");
    cells.push(h("span", { class: `pcell ${kind}` }, h("b", {}, String(page)), h("i", {}, word)));
  }
  pool.replaceChildren(...cells);
  pool.setAttribute("aria-label", context.say(note("page_table_described", { taken: state.taken.length, pages: state.pages })));
}
