/** Who computes in which step, who waits and why, and what of the pool is promised. */

import { cutSteps, withEnd, type Cut } from "../steps";
import { count, counts, name, poolOf, text, uid } from "../trace";
import type { BaseState, Step, TraceEvent } from "../types";
import { note } from "../words";

export type Why = "memory" | "table slots" | "token budget";

export interface Request {
  uid: number;
  input: number;
  /** Most tokens that it may generate. */
  output: number;
  generated: number;
  /** Tokens whose KV it has. */
  computed: number;
  state: "waiting" | "running" | "done" | "aborted";
  /** Columns: of its arrival, its admission and its end. */
  from: number;
  admitted: number | null;
  to: number | null;
  /** Tokens computed, by column; negative for decodes. */
  cells: Record<number, number>;
  /** Why it could not be admitted before a column. */
  refused: Record<number, Why>;
  retracted: number[];
}

export interface Column {
  phase: "prefill" | "decode";
  tokens: number;
}

export interface TimelineState extends BaseState {
  size: number;
  total: number;
  budget: number;
  known: boolean;
  reqs: Request[];
  order: number[];
  columns: Column[];
  /** Tokens in pages that requests own or that are cached. */
  taken: number;
  cached: number;
  /** The refusal of this step, with its arithmetic. */
  gate: { uid: number; why: Why; need: number; reserved: number; available: number } | null;
  batch: { phase: "prefill" | "decode"; uids: number[]; tokens: number[] } | null;
  ended: number[];
}

export function start(events: readonly TraceEvent[]): TimelineState {
  const { pages, size, known } = poolOf(events);
  return {
    size,
    total: pages * size,
    budget: 0,
    known,
    reqs: [],
    order: [],
    columns: [],
    taken: 0,
    cached: 0,
    gate: null,
    batch: null,
    ended: [],
    note: null,
    alerts: [],
  };
}

export function begin(state: TimelineState): void {
  state.gate = null;
  state.ended = [];
}

/** Steps: requests arrive; each admission and refusal; each forward with what it ends. */
export function steps(events: readonly TraceEvent[]): Step[] {
  let [arriving, admission] = [false, false];
  let refused = "";
  const rule = (event: TraceEvent): Cut => {
    const arrived = arriving;
    arriving = event.type === "queued";
    if (event.type === "match") admission = true;
    if (event.type === "admitted" || event.type === "refused" || event.type === "batch") admission = false;
    switch (event.type) {
      case "queued":
        return arrived ? "joins" : "opens";
      case "refused": {
        // whoever is refused again for the same reason waits on: told once
        const [before, now] = [refused, `${event.req} ${String(event["why"])}`];
        refused = now;
        return before === now ? "joins" : "ends";
      }
      case "admitted":
        refused = "";
        return "ends";
      case "setup":
      case "forward_end":
      case "retract":
      case "abort":
        return "ends";
      case "match":
      case "batch":
      case "allocate":
      case "evict":
        return arrived ? "opens" : "joins";
      case "lock":
      case "unlock":
        return admission ? "joins" : "after";
      default:
        return "after";
    }
  };
  return withEnd(events, cutSteps(events, rule));
}

export function apply(state: TimelineState, event: TraceEvent): void {
  const req = uid(event);
  const one = req === null ? undefined : state.reqs.find((other) => other.uid === req);
  switch (event.type) {
    case "setup":
      state.budget = count(event, "token_budget");
      state.cached = counts(event, "cached").length * state.size;
      state.taken = state.cached;
      state.note = note("scheduler_timeline_setup", { total: state.total, budget: state.budget });
      return;
    case "queued":
      if (req !== null) queue(state, req, event);
      return;
    case "admitted":
      if (one) admit(state, one, event);
      return;
    case "refused":
      if (one) refuse(state, one, event);
      return;
    case "allocate":
      state.taken += counts(event, "pages").length * state.size;
      return;
    case "free":
      state.taken -= counts(event, "pages").length * state.size;
      return;
    case "evict":
      state.taken -= counts(event, "locations").length;
      state.cached -= counts(event, "locations").length;
      return;
    case "insert":
      state.cached += Math.max(0, count(event, "new_len") - count(event, "cached_len"));
      return;
    case "batch":
      return batch(state, event);
    case "sampled":
      if (one) one.generated += 1;
      return;
    case "finished":
      if (one) leave(state, one, event["reason"] === "abort" ? "aborted" : "done");
      return;
    case "abort":
      if (one) leave(state, one, "aborted");
      state.note = note("scheduler_timeline_abort", { req: req === null ? "?" : name(req) });
      return;
    case "retract":
      if (one) retract(state, one, event);
      return;
  }
}

export function end(state: TimelineState, step: Step): void {
  if (step.kind === "forward_end" && state.batch) {
    const { phase, uids, tokens } = state.batch;
    const values = { reqs: uids.map(name), tokens: tokens.join(" + "), k: state.columns.length, ended: state.ended.map(name) };
    const key = `scheduler_timeline_${phase}${state.ended.length > 0 ? "_ends" : ""}`;
    state.note = note(key, { ...values, n: uids.length });
    state.batch = null;
  }
  if (step.kind !== "end") return;
  const left = state.reqs.filter((one) => one.state === "running" || one.state === "waiting");
  const done = state.reqs.filter((one) => one.state === "done");
  const values = { k: state.columns.length, n: done.length, tokens: done.reduce((sum, one) => sum + one.generated, 0) };
  state.note = note("scheduler_timeline_end", values);
  if (left.length > 0) state.note = note("scheduler_timeline_stopped", { reqs: left.map((one) => name(one.uid)) });
}

/** Tokens of the pool that running requests may still ask for. */
export function promised(state: TimelineState): number {
  const running = state.reqs.filter((one) => one.state === "running" && one.computed >= one.input);
  return running.reduce((sum, one) => sum + Math.max(0, one.output - one.generated), 0);
}

function queue(state: TimelineState, req: number, event: TraceEvent): void {
  const old = state.reqs.findIndex((one) => one.uid === req);
  if (old >= 0) state.reqs.splice(old, 1);
  state.reqs.push({
    uid: req,
    input: count(event, "input_len"),
    output: count(event, "output_len"),
    generated: 0,
    computed: 0,
    state: "waiting",
    from: state.columns.length,
    admitted: null,
    to: null,
    cells: {},
    refused: {},
    retracted: [],
  });
  const waiting = state.reqs.filter((one) => one.state === "waiting" && one.admitted === null);
  const lengths = waiting.map((one) => `${name(one.uid)} ${one.input} + ${one.output}`);
  state.note = note("scheduler_timeline_queued", { reqs: lengths, n: waiting.length });
}

function admit(state: TimelineState, one: Request, event: TraceEvent): void {
  if (!state.order.includes(one.uid)) state.order.push(one.uid);
  one.state = "running";
  one.admitted ??= state.columns.length;
  one.computed = count(event, "cached_len");
  const values = { req: name(one.uid), n: one.computed, now: count(event, "extend_len"), need: one.input - one.computed + one.output };
  state.note = note(one.computed > 0 ? "scheduler_timeline_admitted_hit" : "scheduler_timeline_admitted", values);
}

function refuse(state: TimelineState, one: Request, event: TraceEvent): void {
  const said = text(event, "why");
  const why: Why = said === "memory" || said === "table slots" ? said : "token budget";
  one.refused[state.columns.length] = why;
  const need = count(event, "input_len") + count(event, "output_len");
  state.gate = { uid: one.uid, why, need, reserved: count(event, "reserved"), available: count(event, "available") };
  const key = { memory: "memory", "table slots": "slots", "token budget": "budget" }[why];
  state.note = note(`scheduler_timeline_refused_${key}`, { req: name(one.uid), ...state.gate });
}

function batch(state: TimelineState, event: TraceEvent): void {
  const phase = event["phase"] === "decode" ? "decode" : "prefill";
  const [uids, tokens] = [counts(event, "uids"), counts(event, "tokens")];
  state.batch = { phase, uids, tokens };
  const column = state.columns.length;
  state.columns.push({ phase, tokens: tokens.reduce((sum, n) => sum + n, 0) });
  uids.forEach((req, i) => {
    const one = state.reqs.find((other) => other.uid === req);
    const n = tokens[i] ?? 0;
    if (!one) return;
    const decodes = phase === "decode" || one.computed >= one.input;
    one.cells[column] = decodes ? -n : n;
    one.computed += n;
  });
}

function leave(state: TimelineState, one: Request, how: "done" | "aborted"): void {
  if (one.state === "done" || one.state === "aborted") return;
  one.state = how;
  one.to = state.columns.length - 1;
  state.ended.push(one.uid);
}

function retract(state: TimelineState, one: Request, event: TraceEvent): void {
  one.state = "waiting";
  one.retracted.push(state.columns.length);
  one.input = count(event, "input_len");
  one.output = Math.max(0, one.output - one.generated);
  one.generated = 0;
  state.note = note("scheduler_timeline_retract", { req: name(one.uid), n: count(event, "cached_len"), len: one.input });
}
