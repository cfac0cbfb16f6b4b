/** What `cache_req` does to the pages: insertion, locks, pages given back. */

import { count, counts, name } from "../trace";
import type { TraceEvent } from "../types";
import { note } from "../words";
import { own, page, type PoolState } from "./state";

export function lock(state: PoolState, req: number | null, event: TraceEvent): void {
  const length = count(event, "cached_len");
  const row = req === null ? undefined : state.rows[req];
  if (event.type === "lock" && row) row.locked = length;
  if (state.call && event.type === "unlock") state.call.region = null;
  const key = length > 0 ? `kv_pool_${event.type}` : `kv_pool_${event.type}_none`;
  state.note = note(key, { req: req === null ? "?" : name(req), n: length });
}

export function insert(
  state: PoolState,
  req: number | null,
  event: TraceEvent,
  index: number,
  events: readonly TraceEvent[],
): void {
  const locations = counts(event, "locations");
  const [cached, after, length] = [count(event, "cached_len"), count(event, "new_len"), count(event, "length")];
  for (let at = cached; at < Math.min(after, locations.length); at += state.size) own(state, locations[at] as number, "cache");
  if (req === null) return;
  const row = (state.rows[req] ??= { pages: [], length: 0, computed: length, locked: 0 });
  const finished = outcome(events, index, req);
  state.calls += 1;
  state.call = {
    req,
    number: state.calls,
    finished,
    bounds: [row.locked, Math.max(cached, row.locked), Math.max(after, row.locked), length],
    row: row.pages.slice(0, Math.ceil(length / state.size)),
    before: {},
    over: false,
    region: "C",
  };
  const kind = finished === null ? "inserted" : finished ? "insert_ends" : "insert_goes_on";
  const held = Math.max(0, cached - row.locked);
  state.note = note(`kv_pool_${kind}${held > 0 ? "_held" : ""}`, {
    req: name(req),
    new: after,
    len: length,
    fresh: Math.max(0, after - cached),
    held,
  });
}

/** Whether the call that began at `index` ends the request; null when the trace does not say. */
function outcome(events: readonly TraceEvent[], index: number, req: number): boolean | null {
  for (let i = index + 1; i < events.length; i += 1) {
    const event = events[i] as TraceEvent;
    if (event.type === "cache_req" && event.req === req) return event["finished"] === true;
    if (event.type === "insert" || event.type === "batch") return null;
  }
  return null;
}

export function free(state: PoolState, req: number | null, event: TraceEvent): void {
  const places = counts(event, "pages");
  const call = state.call?.req === req ? state.call : null;
  const [twice, cached]: [number[], number[]] = [[], []];
  for (const place of places) {
    const one = page(state, place);
    if (!one) continue;
    if (one.owner === "free") twice.push(place);
    if (one.owner === "cache") cached.push(place);
    own(state, place, "free");
    one.freed = true;
  }
  if (twice.length > 0) state.alerts.push(note("kv_pool_twice", { pages: twice }));
  if (cached.length > 0) state.alerts.push(note("kv_pool_free_cached", { pages: cached }));
  const who = req === null ? "?" : name(req);
  if (!call) {
    state.note = note("kv_pool_free", { pages: places });
    return;
  }
  const tail = Math.floor(call.bounds[2] / state.size);
  const isTail = places.every((place) => call.row.indexOf(place) >= tail);
  call.region = isTail ? "D" : "B";
  state.note = note(isTail ? "kv_pool_free_tail" : "kv_pool_free_duplicate", { req: who, pages: places });
}
