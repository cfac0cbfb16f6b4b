/** Who has which page of the KV pool, event by event. */

import { cutSteps, withEnd, type Cut } from "../steps";
import { count, counts, name, poolOf, uid } from "../trace";
import type { Step, TraceEvent } from "../types";
import { note } from "../words";
import { free, insert, lock } from "./call";
import { first, own, owned, page, tally, type Owner, type PoolState, type Row } from "./state";

export type { PoolState } from "./state";

export function start(events: readonly TraceEvent[]): PoolState {
  const { pages, size } = poolOf(events);
  return {
    size,
    pages: Array.from({ length: pages }, () => ({ owner: "free", fill: 0, touched: false, freed: false })),
    rows: {},
    order: [],
    prompts: {},
    batch: null,
    call: null,
    calls: 0,
    note: null,
    alerts: [],
  };
}

export function begin(state: PoolState): void {
  for (const page of state.pages) page.touched = page.freed = false;
  if (state.call?.over) state.call = null;
  if (state.call) state.call.region = null;
}

/** Steps: a request comes in; pages are allocated; a forward; each deed of `cache_req`. */
export function steps(events: readonly TraceEvent[]): Step[] {
  let [admission, call] = [false, false];
  const rule = (event: TraceEvent): Cut => {
    switch (event.type) {
      case "match":
        admission = true; // its lock belongs to the admission
        return "joins";
      case "lock":
      case "unlock":
        return admission ? "joins" : "ends";
      case "admitted":
      case "refused":
        admission = false;
        return "ends";
      case "insert":
        [admission, call] = [false, true];
        return "ends";
      case "cache_req":
        call = false;
        return "after";
      case "page_table_write":
        return call ? "ends" : "joins";
      case "batch":
        admission = call = false;
        return event["phase"] === "prefill" ? "ends" : "joins";
      case "setup":
      case "free":
      case "evict":
      case "forward_end":
      case "retract":
      case "abort":
        return "ends";
      case "allocate":
        return "joins";
      default:
        return "after";
    }
  };
  return withEnd(events, cutSteps(events, rule));
}

export function apply(state: PoolState, event: TraceEvent, index: number, events: readonly TraceEvent[]): void {
  const req = uid(event);
  switch (event.type) {
    case "setup":
      return setup(state, event);
    case "queued":
      if (req !== null) state.prompts[req] = count(event, "input_len");
      return;
    case "admitted":
      if (req !== null) admit(state, req, event);
      return;
    case "refused":
      return void (state.note = refusal(event));
    case "allocate":
      for (const place of counts(event, "pages")) own(state, place, "new");
      return;
    case "page_table_write":
      if (req !== null) write(state, req, event);
      return;
    case "batch":
      return batch(state, event);
    case "forward_end":
      return forward(state);
    case "lock":
    case "unlock":
      return lock(state, req, event);
    case "insert":
      return insert(state, req, event, index, events);
    case "free":
      return free(state, req, event);
    case "evict":
      return evict(state, event);
    case "cache_req":
      if (state.call) state.call.over = true;
      if (req !== null && event["finished"] === true) leave(state, req);
      return;
    case "finished":
      if (req !== null) leave(state, req);
      return;
    case "abort":
    case "retract":
      state.note = note(`kv_pool_${event.type}`, { req: req === null ? "?" : name(req) });
      return;
  }
}

export function end(state: PoolState, step: Step): void {
  if (step.kind !== "end") return;
  state.call = null;
  const of = tally(state);
  const running = Object.keys(state.rows).map((req) => name(Number(req)));
  if (running.length > 0) state.note = note("kv_pool_stopped", { reqs: running });
  else if (of.lost > 0) state.note = note("kv_pool_idle_lost", { n: of.lost, pages: owned(state, "lost") });
  else state.note = note("kv_pool_idle", { ...of, total: state.pages.length });
}

function setup(state: PoolState, event: TraceEvent): void {
  const cached = counts(event, "cached");
  for (const place of cached) own(state, place, "cache");
  for (const one of state.pages) one.touched = false;
  state.note = note("kv_pool_setup", { pages: state.pages.length, size: state.size, cached: cached.length });
  if (cached.length > 0) state.note.key = "kv_pool_setup_cached";
}

function admit(state: PoolState, req: number, event: TraceEvent): void {
  const matched = count(event, "cached_len");
  if (!state.order.includes(req)) state.order.push(req);
  state.rows[req] = { pages: [], length: 0, computed: matched, locked: matched };
  const length = state.prompts[req] ?? matched + count(event, "extend_len");
  state.note = note(matched > 0 ? "kv_pool_admit_hit" : "kv_pool_admit", { req: name(req), len: length, n: matched });
}

function refusal(event: TraceEvent): PoolState["note"] {
  const why = event["why"] === "memory" ? "memory" : event["why"] === "table slots" ? "slots" : "budget";
  return note(`kv_pool_refused_${why}`, {
    req: name(uid(event) ?? 0),
    need: count(event, "input_len") + count(event, "output_len"),
    reserved: count(event, "reserved"),
    available: count(event, "available"),
  });
}

function write(state: PoolState, req: number, event: TraceEvent): void {
  const row = (state.rows[req] ??= { pages: [], length: 0, computed: 0, locked: 0 });
  if (!state.order.includes(req)) state.order.push(req);
  const begin = count(event, "start");
  const [gone, come]: [number[], number[]] = [[], []];
  counts(event, "locations").forEach((location, i) => {
    const part = Math.floor((begin + i) / state.size);
    const place = first(state, location);
    const before = row.pages[part];
    if (before !== place) {
      row.pages[part] = place;
      if (before !== undefined) gone.push(before);
      come.push(place);
      if (state.call?.req === req) {
        state.call.row[part] = place;
        if (before !== undefined) state.call.before[part] = before;
      }
    }
    row.length = Math.max(row.length, begin + i + 1);
    const one = page(state, place);
    if (one?.owner === "new") one.owner = name(req);
    if (one && state.call) one.touched = true;
  });
  for (let i = 0; i < row.pages.length; i += 1) row.pages[i] ??= -1; // a row with a hole names no page there
  if (state.call?.req === req) {
    state.call.region = "B";
    state.note = note("kv_pool_repoint", { req: name(req), from: gone, to: come });
  }
}

function batch(state: PoolState, event: TraceEvent): void {
  const uids = counts(event, "uids");
  state.batch = { phase: event["phase"] === "decode" ? "decode" : "prefill", uids, tokens: counts(event, "tokens") };
  state.call = null;
  lose(state, "new");
  const fresh = uids.flatMap((req) => {
    const places = (state.rows[req]?.pages ?? []).filter((p) => page(state, p)?.touched && page(state, p)?.owner === name(req));
    return places.length > 0 ? [`${name(req)}: ${places.join(" ")}`] : [];
  });
  for (const req of uids) {
    const free = (state.rows[req]?.pages ?? []).filter((p) => page(state, p)?.owner === "free");
    if (free.length > 0) state.alerts.push(note("kv_pool_dangling", { req: name(req), pages: free }));
  }
  const reqs = uids.map(name);
  if (state.batch.phase === "decode") {
    state.note = note(fresh.length > 0 ? "kv_pool_decode_new" : "kv_pool_decode", { reqs, pages: fresh, n: reqs.length });
  } else {
    state.note = note(fresh.length > 0 ? "kv_pool_allocate" : "kv_pool_allocate_none", { reqs, pages: fresh });
  }
}

function forward(state: PoolState): void {
  if (!state.batch) return;
  const { phase, uids, tokens } = state.batch;
  for (const req of uids) {
    const row = state.rows[req];
    if (!row) continue;
    row.computed = row.length;
    fill(state, req, row);
  }
  if (phase === "prefill") {
    state.note = note("kv_pool_prefill", { reqs: uids.map(name), tokens: tokens.join(" + "), n: tokens[0] ?? 0 });
    if (uids.length > 1) state.note.values["n"] = 0;
  }
  state.batch = null;
}

function fill(state: PoolState, req: number, row: Row): void {
  row.pages.forEach((place, i) => {
    const one = page(state, place);
    if (one?.owner === name(req)) one.fill = Math.max(0, Math.min(state.size, row.computed - i * state.size));
  });
}

function evict(state: PoolState, event: TraceEvent): void {
  const places = [...new Set(counts(event, "locations").map((location) => first(state, location)))];
  for (const place of places) {
    own(state, place, "free");
    const one = page(state, place);
    if (one) one.freed = true;
  }
  state.note = note("kv_pool_evict", { pages: places, n: count(event, "size") });
}

/** A request has gone: what it still owns is nobody's. */
function leave(state: PoolState, req: number): void {
  if (!(req in state.rows)) return;
  delete state.rows[req];
  lose(state, name(req));
}

function lose(state: PoolState, owner: Owner): void {
  const pages = owned(state, owner);
  if (pages.length === 0) return;
  for (const one of state.pages) if (one.owner === owner) Object.assign(one, { owner: "lost", touched: true });
  state.alerts.push(note("kv_pool_lost", { n: pages.length, pages }));
}
