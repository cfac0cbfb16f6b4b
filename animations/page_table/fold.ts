/** Rows of the page table and of the token pool, position by position. */

import { cutSteps, withEnd, type Cut } from "../steps";
import { count, counts, name, poolOf, uid } from "../trace";
import type { BaseState, Note, Step, TraceEvent } from "../types";
import { note } from "../words";

export interface Row {
  req: number;
  /** Where the row stands in the table; null until it is written for the first time. */
  slot: number | null;
  /** Token locations by position; null where nothing was written yet. */
  locations: (number | null)[];
  /** The row of the token pool, as far as the trace tells it. */
  tokens: (number | null)[];
  /** Positions that the prefix cache has filled in. */
  hit: number;
}

export interface TableState extends BaseState {
  size: number;
  pages: number;
  /** First location of each page that is not free. */
  taken: number[];
  rows: Row[];
  order: number[];
  prompts: Record<number, number[]>;
  /** What this step wrote: positions [from, to) of a request's row, in the page table or in the token pool. */
  written: { req: number; from: number; to: number; where: "table" | "tokens" }[];
  /** The request whose row is shown. */
  shown: number | null;
  /** What the learner's `kv_footprint` said last. */
  footprint: Note | null;
}

const FOOTPRINT = ["logical_blocks", "physical_blocks", "tail_waste", "saved_bytes"] as const;

export function start(events: readonly TraceEvent[]): TableState {
  const { pages, size } = poolOf(events);
  return { size, pages, taken: [], rows: [], order: [], prompts: {}, written: [], shown: null, footprint: null, note: null, alerts: [] };
}

export function begin(state: TableState): void {
  state.written = [];
}

/** Steps: a row is taken, locations are written, sampled tokens join the token pool, a row is given back. */
export function steps(events: readonly TraceEvent[]): Step[] {
  let sampling = false;
  const rule = (event: TraceEvent): Cut => {
    const sampled = sampling;
    sampling = event.type === "sampled";
    switch (event.type) {
      case "sampled":
        return sampled ? "joins" : "opens";
      case "setup":
      case "admitted":
      case "page_table_write":
      case "evict":
      case "retract":
      case "footprint":
        return sampled ? "alone" : "ends";
      case "cache_req":
        return event["finished"] === true ? "ends" : "after";
      case "allocate":
      case "match":
        return sampled ? "opens" : "joins";
      case "finished":
        return "joins";
      default:
        return "after";
    }
  };
  return withEnd(events, cutSteps(events, rule));
}

export function apply(state: TableState, event: TraceEvent): void {
  const req = uid(event);
  switch (event.type) {
    case "setup":
      state.taken = counts(event, "cached");
      state.note = note("page_table_setup", { pages: state.pages, size: state.size, rows: count(event, "rows") });
      return;
    case "queued":
      if (req !== null) state.prompts[req] = counts(event, "input_ids");
      return;
    case "admitted":
      if (req !== null) admit(state, req, event);
      return;
    case "allocate":
      for (const page of counts(event, "pages")) if (!state.taken.includes(page)) state.taken.push(page);
      state.note ??= note("page_table_allocate", { pages: counts(event, "pages") });
      return;
    case "free":
    case "evict": {
      const gone = new Set([...counts(event, "pages"), ...counts(event, "locations")]);
      state.taken = state.taken.filter((page) => !gone.has(page));
      if (event.type === "evict") state.note = note("page_table_evict", { n: gone.size });
      return;
    }
    case "page_table_write":
      if (req !== null) write(state, req, event);
      return;
    case "footprint":
      return measure(state, event);
    case "sampled":
      if (req !== null) sample(state, req, count(event, "token"));
      return;
    case "cache_req":
      if (req !== null && event["finished"] === true) leave(state, req);
      return;
    case "retract":
    case "finished":
      if (req !== null) leave(state, req);
      return;
  }
}

export function end(state: TableState, step: Step): void {
  if (step.kind !== "end") return;
  const left = state.rows.map((row) => name(row.req));
  state.note = left.length > 0 ? note("page_table_stopped", { reqs: left }) : note("page_table_end", { n: state.order.length });
}

/** Page (its number) and place in it, where a position lies. */
export function placeOf(state: TableState, location: number): { page: number; offset: number } {
  return { page: Math.floor(location / state.size), offset: location % state.size };
}

function rowOf(state: TableState, req: number): Row {
  let row = state.rows.find((one) => one.req === req);
  if (!row) {
    row = { req, slot: null, locations: [], tokens: [], hit: 0 };
    state.rows.push(row);
    if (!state.order.includes(req)) state.order.push(req);
  }
  return row;
}

function admit(state: TableState, req: number, event: TraceEvent): void {
  const row = rowOf(state, req);
  row.slot = count(event, "slot");
  row.hit = count(event, "cached_len");
  const known = state.prompts[req] ?? [];
  const end = row.hit + count(event, "extend_len");
  row.tokens = Array.from({ length: Math.min(end, 1 << 16) }, (_, i) => known[i] ?? null);
  row.locations = Array.from({ length: Math.min(row.hit, 1 << 16) }, () => null);
  state.shown = req;
  state.written.push({ req, from: 0, to: end, where: "tokens" });
  state.note = note(row.hit > 0 ? "page_table_admit_hit" : "page_table_admit", { req: name(req), row: row.slot, n: row.hit, len: end });
}

function write(state: TableState, req: number, event: TraceEvent): void {
  const row = rowOf(state, req);
  row.slot = count(event, "row");
  const from = count(event, "start");
  if (from > 1 << 16) return;
  const locations = counts(event, "locations");
  const again = locations.filter((_, i) => typeof row.locations[from + i] === "number").length;
  for (let i = row.locations.length; i < from; i += 1) row.locations.push(null);
  locations.forEach((location, i) => (row.locations[from + i] = location));
  const known = state.prompts[req] ?? [];
  for (let i = row.tokens.length; i < from + locations.length; i += 1) row.tokens.push(known[i] ?? null);
  const to = from + locations.length;
  state.shown = req;
  state.written.push({ req, from, to, where: "table" });
  const last = locations[locations.length - 1];
  const values = { req: name(req), row: row.slot, from, to, n: locations.length, first: locations[0] ?? 0, last: last ?? 0 };
  state.note = note(again > 0 ? "page_table_rewrite" : "page_table_write", values);
  if (last !== undefined && again === 0 && locations.length === 1) {
    const { page, offset } = placeOf(state, last);
    state.note = note("page_table_write_one", { ...values, page, offset, size: state.size });
  }
  const free = [...new Set(locations.map((at) => at - (at % state.size)))].filter((page) => !state.taken.includes(page));
  if (free.length > 0) state.alerts.push(note("page_table_free_named", { req: name(req), pages: free }));
}

/** Four numbers, or whatever a learner's function returned in their place. */
function measure(state: TableState, event: TraceEvent): void {
  const result = (typeof event["result"] === "object" ? event["result"] : null) as Record<string, unknown> | null;
  const numbers = FOOTPRINT.map((key) => result?.[key]);
  const [logical, physical, waste, saved] = numbers.map((one) => (typeof one === "number" ? one.toLocaleString("en") : "?"));
  state.footprint = note("page_table_footprint", { logical: logical ?? "?", physical: physical ?? "?", waste: waste ?? "?", saved: saved ?? "?" });
  state.note = state.footprint;
  if (!numbers.every((one) => typeof one === "number")) state.alerts.push(note("page_table_footprint_none"));
}

function sample(state: TableState, req: number, token: number): void {
  const row = state.rows.find((one) => one.req === req);
  const before = state.note?.key === "page_table_sampled" ? (state.note.values["tokens"] as string[]) : [];
  state.note = note("page_table_sampled", { tokens: [...before, `${name(req)} ${token}`] });
  if (!row) return;
  // with overlap the token's place has a location before the token is known
  const prompt = state.prompts[req]?.length ?? 0;
  const gap = row.tokens.findIndex((known, i) => known === null && i >= prompt);
  const at = gap < 0 ? row.tokens.length : gap;
  row.tokens[at] = token;
  state.written.push({ req, from: at, to: at + 1, where: "tokens" });
}

function leave(state: TableState, req: number): void {
  const row = state.rows.find((one) => one.req === req);
  if (!row) return;
  state.rows = state.rows.filter((one) => one !== row);
  if (state.shown === req) state.shown = state.rows[state.rows.length - 1]?.req ?? null;
  state.note = note("page_table_leave", { req: name(req), row: row.slot ?? 0 });
}
