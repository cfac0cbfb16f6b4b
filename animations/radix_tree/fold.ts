/** The radix tree of the prefix cache, event by event. A node is known by the location of its last token. */

import { cutSteps, withEnd, type Cut } from "../steps";
import { count, counts, name, poolOf, uid } from "../trace";
import type { BaseState, Step, TraceEvent } from "../types";
import { note } from "../words";

export interface Node {
  id: number;
  /** null: below the root. */
  parent: number | null;
  /** One location a token. */
  locations: number[];
  /** Token ids where the trace tells them. */
  ids: (number | null)[];
  locks: number;
  /** When a walk came by last, in walks. */
  used: number;
  /** On the way of this step's walk. */
  walked: boolean;
  /** Made at this step. */
  fresh: boolean;
  /** Evicted at this step. */
  gone: boolean;
}

export interface TreeState extends BaseState {
  size: number;
  nodes: Node[];
  next: number;
  clock: number;
  /** Tokens of each request, as far as the trace tells them. */
  tokens: Record<number, number[]>;
  order: number[];
  /** The last node of the prefix that a request holds locked. */
  held: Record<number, number | null>;
  live: number[];
  /** Tokens cached before the trace begins; where they hang is not known. */
  before: number;
  /** Tokens that all inserts brought, and those that had to be stored. */
  offered: number;
  stored: number;
  walk: { req: number | null; length: number; matched: number } | null;
}

export function start(events: readonly TraceEvent[]): TreeState {
  const base = { nodes: [], next: 1, clock: 0, tokens: {}, order: [], held: {}, live: [], before: 0 };
  return { size: poolOf(events).size, ...base, offered: 0, stored: 0, walk: null, note: null, alerts: [] };
}

export function begin(state: TreeState): void {
  state.nodes = state.nodes.filter((node) => !node.gone);
  for (const node of state.nodes) node.walked = node.fresh = false;
  state.walk = null;
}

/** Steps: each walk, split, lock, insertion and eviction; what changes nothing in the tree is left out. */
export function steps(events: readonly TraceEvent[]): Step[] {
  const rule = (event: TraceEvent): Cut => {
    switch (event.type) {
      case "setup":
      case "match":
      case "split":
      case "insert":
      case "evict":
        return "ends";
      case "lock":
      case "unlock":
        return count(event, "cached_len") > 0 ? "ends" : "after";
      default:
        return "after";
    }
  };
  return withEnd(events, cutSteps(events, rule));
}

export function apply(state: TreeState, event: TraceEvent): void {
  const req = uid(event);
  switch (event.type) {
    case "setup":
      return setup(state, event);
    case "queued":
      if (req !== null) state.tokens[req] = counts(event, "input_ids");
      return;
    case "sampled":
      if (req !== null) state.tokens[req]?.push(count(event, "token"));
      return;
    case "admitted":
      if (req === null) return;
      if (!state.order.includes(req)) state.order.push(req);
      if (!state.live.includes(req)) state.live.push(req);
      return;
    case "match":
      return match(state, req, event);
    case "split":
      return split(state, event);
    case "insert":
      return insert(state, req, event);
    case "lock":
    case "unlock":
      return lock(state, req, event);
    case "evict":
      return evict(state, event);
    case "finished":
      if (req !== null) state.live = state.live.filter((other) => other !== req);
      return;
    case "cache_req":
      if (req !== null && event["finished"] === true) state.live = state.live.filter((other) => other !== req);
      return;
  }
}

export function end(state: TreeState, step: Step): void {
  checkLocks(state);
  if (step.kind !== "end") return;
  const { evictable, locked } = sizes(state);
  state.note = note("radix_tree_end", { nodes: state.nodes.length, n: evictable + locked, offered: state.offered });
  if (locked > 0 && state.live.length === 0) state.alerts.push(note("radix_tree_locked_idle", { n: locked }));
}

export function sizes(state: TreeState): { evictable: number; locked: number } {
  const of = { evictable: 0, locked: 0 };
  for (const node of state.nodes) if (!node.gone) of[node.locks > 0 ? "locked" : "evictable"] += node.locations.length;
  return of;
}

/** From a node up to below the root. */
export function pathOf(state: TreeState, id: number | null): Node[] {
  const path: Node[] = [];
  const byId = new Map(state.nodes.map((node) => [node.id, node]));
  for (let node = byId.get(id ?? -1); node && path.length <= state.nodes.length; node = byId.get(node.parent ?? -1)) {
    path.push(node);
  }
  return path;
}

function setup(state: TreeState, event: TraceEvent): void {
  const cached = counts(event, "cached").length * state.size;
  const known = state.nodes.reduce((sum, node) => sum + node.locations.length, 0);
  state.before = Math.max(0, cached - known);
  const key = state.before > 0 ? "radix_tree_setup_before" : known > 0 ? "radix_tree_setup_again" : "radix_tree_setup";
  state.note = note(key, { n: state.before || known, size: state.size });
}

/** The node that ends with a location; null for the root, or for what was cached before the trace began. */
function endingAt(state: TreeState, event: TraceEvent): Node | null {
  if (typeof event["last"] !== "number") return null;
  const last = event["last"];
  return state.nodes.find((node) => !node.gone && node.locations[node.locations.length - 1] === last) ?? null;
}

function walkTo(state: TreeState, node: Node | null): void {
  state.clock += 1;
  for (const passed of pathOf(state, node?.id ?? null)) Object.assign(passed, { walked: true, used: state.clock });
}

function match(state: TreeState, req: number | null, event: TraceEvent): void {
  const [length, matched] = [count(event, "length"), count(event, "cached_len")];
  walkTo(state, endingAt(state, event));
  state.walk = { req, length, matched };
  const key = matched === 0 ? "radix_tree_match_none" : matched === length ? "radix_tree_match_all" : "radix_tree_match";
  state.note = note(key, { req: req === null ? "?" : name(req), len: length, n: matched });
}

function split(state: TreeState, event: TraceEvent): void {
  const length = count(event, "length");
  const last = event["last"];
  const lower = state.nodes.find((node) => !node.gone && node.locations[length - 1] === last && node.locations.length > length);
  if (!lower) return;
  const upper: Node = {
    ...lower,
    id: state.next,
    locations: lower.locations.slice(0, length),
    ids: lower.ids.slice(0, length),
    locks: count(event, "ref_count"),
    walked: true,
    fresh: true,
  };
  state.next += 1;
  lower.locations = lower.locations.slice(length);
  lower.ids = lower.ids.slice(length);
  lower.parent = upper.id;
  state.nodes.push(upper);
  const key = upper.locks > 0 ? "radix_tree_split_locked" : "radix_tree_split";
  state.note = note(key, { upper: length, lower: lower.locations.length, n: upper.locks });
}

function insert(state: TreeState, req: number | null, event: TraceEvent): void {
  const [length, cached, after] = [count(event, "length"), count(event, "cached_len"), count(event, "new_len")];
  const parent = endingAt(state, event);
  walkTo(state, parent);
  state.walk = { req, length, matched: cached };
  state.offered += length;
  const who = req === null ? "?" : name(req);
  if (after <= cached) {
    state.note = note(after === 0 ? "radix_tree_insert_short" : "radix_tree_insert_none", { req: who, len: length, n: after });
    return;
  }
  const known = req === null ? [] : (state.tokens[req] ?? []);
  const locations = counts(event, "locations").slice(cached, after);
  const ids = locations.map((_, i) => known[cached + i] ?? null);
  const leaf = { id: state.next, parent: parent?.id ?? null, locations, ids, locks: 0, used: state.clock };
  state.nodes.push({ ...leaf, walked: true, fresh: true, gone: false });
  state.next += 1;
  state.stored += after - cached;
  const key = cached > 0 ? "radix_tree_insert_below" : "radix_tree_insert";
  state.note = note(key, { req: who, len: length, n: after - cached, cached });
}

function lock(state: TreeState, req: number | null, event: TraceEvent): void {
  const node = endingAt(state, event);
  const unlocks = event.type === "unlock";
  for (const passed of pathOf(state, node?.id ?? null)) {
    passed.locks = Math.max(0, passed.locks + (unlocks ? -1 : 1));
    passed.walked = true;
  }
  if (req !== null) state.held[req] = unlocks ? null : (node?.id ?? null);
  const left = node?.locks ?? 0;
  const key = `radix_tree_${event.type}${unlocks && left === 0 ? "_last" : ""}`;
  state.note = note(key, { req: req === null ? "?" : name(req), n: count(event, "cached_len"), left });
}

function evict(state: TreeState, event: TraceEvent): void {
  const given = new Set(counts(event, "locations"));
  const fallen = state.nodes.filter((node) => node.locations.length > 0 && node.locations.every((at) => given.has(at)));
  for (const node of fallen) Object.assign(node, { gone: true, walked: true });
  state.note = note("radix_tree_evict", { n: count(event, "size"), freed: given.size, nodes: fallen.length });
  const locked = fallen.filter((node) => node.locks > 0).length;
  if (locked > 0) state.alerts.push(note("radix_tree_evict_locked", { n: locked }));
}

/** Whoever locks a node has locked its parents, too. */
function checkLocks(state: TreeState): void {
  const below = new Map<number, number>();
  for (const node of state.nodes) {
    if (node.parent !== null && !node.gone) below.set(node.parent, (below.get(node.parent) ?? 0) + node.locks);
  }
  for (const node of state.nodes) {
    const children = below.get(node.id) ?? 0;
    if (!node.gone && node.locks < children) state.alerts.push(note("radix_tree_locks", { n: node.locks, children }));
  }
}
