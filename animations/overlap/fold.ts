/**
 * What the CPU does while the GPU computes. On a CPU both are one, so that a trace's times say nothing: the order of
 * launching and handling is the trace's, the durations are the chapter's, 3 ms of CPU and 4 ms of GPU a step.
 */

import { cutSteps, withEnd, type Cut } from "../steps";
import { counts, name, uid } from "../trace";
import type { BaseState, Step, TraceEvent } from "../types";
import { note } from "../words";

/** Milliseconds of a step: to choose and launch it, to compute it, to handle its tokens. */
export const COST = { launch: 2, compute: 4, handle: 1 };

export interface Box {
  lane: "cpu" | "gpu";
  kind: "launch" | "handle" | "compute";
  /** Number of the step, from 1. */
  k: number;
  from: number;
  to: number;
}

export interface Batch {
  k: number;
  phase: string;
  uids: number[];
  /** When the GPU is done with it. */
  ready: number;
}

export interface Run {
  overlap: boolean | null;
  boxes: Box[];
  inFlight: Batch[];
  launched: number;
  handled: number;
  /** Until when each lane is taken. */
  cpu: number;
  gpu: number;
}

export interface OverlapState extends BaseState {
  runs: Run[];
  batch: { phase: string; uids: number[] } | null;
  /** Requests that have ended, by the step whose handling ended them. */
  ended: Record<number, number>;
  /** Tokens that came for requests which had ended: their step was launched before that was known. */
  stale: { run: number; k: number; uid: number }[];
  answered: number[];
}

export function start(): OverlapState {
  return { runs: [], batch: null, ended: {}, stale: [], answered: [], note: null, alerts: [] };
}

export function begin(state: OverlapState): void {
  state.answered = [];
}

/** Steps: each launch, with what leads to it, and each handling, with what follows from it. */
export function steps(events: readonly TraceEvent[]): Step[] {
  let handling = false;
  const told = new Set<unknown>(); // whose tokens the handling has handed out
  /** What leads to a launch ends the handling before it. */
  const launching = (): Cut => {
    const before = handling;
    handling = false;
    told.clear();
    return before ? "opens" : "joins";
  };
  /** The tokens of a step are out before the next step is handled. */
  const handles = (again: boolean): Cut => {
    handling = true;
    if (again) told.clear();
    return again ? "opens" : "joins";
  };
  const rule = (event: TraceEvent): Cut => {
    switch (event.type) {
      case "sampled": {
        const cut = handles(told.has(event.req));
        told.add(event.req);
        return cut;
      }
      case "insert":
      case "unlock":
      case "free":
      case "cache_req":
        return handles(told.size > 0);
      case "setup":
        return launching() === "opens" ? "alone" : "ends";
      case "batch":
      case "match":
      case "queued":
      case "allocate":
      case "forward_start":
        return launching();
      case "page_table_write":
        // at position 0 the row of a call is pointed elsewhere, or a new row begins, which `allocate` has told
        return event["start"] === 0 ? "joins" : launching();
      case "forward_end":
        launching();
        return "ends";
      case "finished":
        return handling ? "joins" : "after";
      default:
        return "joins";
    }
  };
  return withEnd(events, cutSteps(events, rule));
}

export function apply(state: OverlapState, event: TraceEvent): void {
  const req = uid(event);
  switch (event.type) {
    case "setup":
      settle(state);
      state.runs.push(newRun(event["overlap"] === true));
      state.ended = {};
      state.note = note(event["overlap"] === true ? "overlap_setup" : "overlap_setup_normal", COST);
      return;
    case "batch":
      state.batch = { phase: event["phase"] === "decode" ? "decode" : "prefill", uids: counts(event, "uids") };
      return;
    case "forward_end":
      return launch(state);
    case "sampled":
      if (req === null) return;
      if (state.answered.length === 0) handle(state);
      state.answered.push(req);
      return;
    case "cache_req":
      if (req !== null && event["finished"] === true) state.ended[req] = current(state).handled + 1;
      return;
  }
}

export function end(state: OverlapState, step: Step): void {
  const run = current(state);
  if (state.answered.length > 0) {
    const waited = run.boxes.filter((box) => box.kind === "handle").length;
    const reqs = state.answered.map(name);
    const stale = state.stale.filter((one) => one.run === state.runs.length - 1 && one.k === run.handled);
    const behind = run.launched - run.handled;
    const values = { k: run.handled, reqs, n: reqs.length, behind, of: waited, gone: stale.map((one) => name(one.uid)) };
    const key = stale.length > 0 ? "overlap_handle_stale" : behind > 0 ? "overlap_handle_behind" : "overlap_handle";
    state.note = note(key, values);
  }
  if (step.kind !== "end") return;
  settle(state);
  const took = state.runs.map((one) => one.cpu);
  if (state.runs.length === 2) state.note = note("overlap_end_two", { first: took[0] ?? 0, second: took[1] ?? 0 });
  else state.note = note("overlap_end", { k: current(state).launched, ms: current(state).cpu });
}

function newRun(overlap: boolean | null): Run {
  return { overlap, boxes: [], inFlight: [], launched: 0, handled: 0, cpu: 0, gpu: 0 };
}

function current(state: OverlapState): Run {
  if (state.runs.length === 0) state.runs.push(newRun(null));
  return state.runs[state.runs.length - 1] as Run;
}

function launch(state: OverlapState): void {
  const run = current(state);
  // a batch of nothing but chunks has no tokens to hand out: without overlap it was handled before this one
  if (run.overlap === false) settle(state);
  while (run.inFlight.length > 1) handle(state);
  run.launched += 1;
  const from = run.cpu;
  run.cpu += COST.launch;
  const computes = Math.max(run.gpu, run.cpu);
  run.gpu = computes + COST.compute;
  const { phase, uids } = state.batch ?? { phase: "decode", uids: [] };
  run.boxes.push({ lane: "cpu", kind: "launch", k: run.launched, from, to: run.cpu });
  run.boxes.push({ lane: "gpu", kind: "compute", k: run.launched, from: computes, to: run.gpu });
  run.inFlight.push({ k: run.launched, phase, uids, ready: run.gpu });
  const inFlight = run.inFlight.length;
  const key = `overlap_launch_${phase}${inFlight > 1 ? "_ahead" : ""}`;
  state.note = note(key, { k: run.launched, reqs: uids.map(name), n: uids.length, before: run.launched - 1 });
  state.batch = null;
}

/** The CPU waits for the oldest batch in flight and handles it. */
function handle(state: OverlapState): void {
  const run = current(state);
  const batch = run.inFlight.shift();
  if (!batch) return;
  run.handled = batch.k;
  const from = Math.max(run.cpu, batch.ready);
  run.cpu = from + COST.handle;
  run.boxes.push({ lane: "cpu", kind: "handle", k: batch.k, from, to: run.cpu });
  for (const req of batch.uids) {
    const ended = state.ended[req];
    if (ended !== undefined && ended < batch.k) state.stale.push({ run: state.runs.length - 1, k: batch.k, uid: req });
  }
}

function settle(state: OverlapState): void {
  if (state.runs.length === 0) return;
  while (current(state).inFlight.length > 0) handle(state);
}

/** How long the GPU had nothing to do between its first and its last step. */
export function idle(run: Run): number {
  const boxes = run.boxes.filter((box) => box.lane === "gpu");
  return boxes.slice(1).reduce((sum, box, i) => sum + box.from - (boxes[i] as Box).to, 0);
}
