/** Graphs by batch size, and which one a batch is replayed with. */

import { cutSteps, withEnd, type Cut } from "../steps";
import { count, counts, name, uid } from "../trace";
import type { BaseState, Step, TraceEvent } from "../types";
import { note } from "../words";

export interface Graph {
  size: number;
  replays: number;
}

export interface GraphState extends BaseState {
  graphs: Graph[];
  order: number[];
  batch: { phase: string; uids: number[]; tokens: number } | null;
  /** The shelf as the last replay read it: requests, then dummies (-1). */
  shelf: number[];
  /** Which graph ran at this step; 0: none, the model was launched kernel by kernel. */
  ran: number | null;
  replays: number;
  eager: number;
  real: number;
  padded: number;
}

export function start(): GraphState {
  const counted = { ran: null, replays: 0, eager: 0, real: 0, padded: 0 };
  return { graphs: [], order: [], batch: null, shelf: [], ...counted, note: null, alerts: [] };
}

export function begin(state: GraphState): void {
  state.ran = null;
}

/** Steps: each capture; each forward, replayed or launched. */
export function steps(events: readonly TraceEvent[]): Step[] {
  const rule = (event: TraceEvent): Cut => {
    switch (event.type) {
      case "graph_capture":
      case "setup":
      case "forward_end":
        return "ends";
      case "batch":
      case "forward_start":
      case "graph_replay":
        return "joins";
      default:
        return "after";
    }
  };
  return withEnd(events, cutSteps(events, rule));
}

export function apply(state: GraphState, event: TraceEvent): void {
  switch (event.type) {
    case "setup":
      state.note = note("cuda_graph_setup", { n: state.graphs.length });
      return;
    case "graph_capture":
      state.graphs.push({ size: count(event, "size"), replays: 0 });
      state.graphs.sort((a, b) => a.size - b.size);
      state.note = note("cuda_graph_capture", { n: count(event, "size"), graphs: state.graphs.length });
      return;
    case "admitted": {
      const req = uid(event);
      if (req !== null && !state.order.includes(req)) state.order.push(req);
      return;
    }
    case "batch": {
      const tokens = counts(event, "tokens").reduce((sum, n) => sum + n, 0);
      state.batch = { phase: event["phase"] === "decode" ? "decode" : "prefill", uids: counts(event, "uids"), tokens };
      return;
    }
    case "graph_replay":
      return replay(state, event);
    case "forward_end":
      if (state.ran === null && state.batch) launch(state, state.batch);
      return;
  }
}

export function end(state: GraphState, step: Step): void {
  if (step.kind !== "end") return;
  const share = state.padded > 0 ? Math.round((1000 * (state.padded - state.real)) / state.padded) / 10 : 0;
  state.note = note("cuda_graph_end", { replays: state.replays, eager: state.eager, share, n: state.graphs.length });
}

function replay(state: GraphState, event: TraceEvent): void {
  const [size, padded] = [count(event, "size"), Math.min(count(event, "padded_size"), 4096)];
  const uids = (state.batch?.uids ?? []).slice(0, size);
  state.shelf = Array.from({ length: Math.max(size, padded) }, (_, i) => (i < size ? (uids[i] ?? -2) : -1));
  const graph = state.graphs.find((one) => one.size === padded);
  if (graph) graph.replays += 1;
  Object.assign(state, { ran: padded, replays: state.replays + 1, real: state.real + size, padded: state.padded + padded });
  const share = padded > 0 ? Math.round((1000 * (padded - size)) / padded) / 10 : 0;
  const key = padded > size ? "cuda_graph_replay_padded" : "cuda_graph_replay";
  state.note = note(key, { reqs: uids.map(name), n: size, padded, dummies: padded - size, share });
  if (state.graphs.length > 0 && !graph) state.alerts.push(note("cuda_graph_no_graph", { n: padded }));
}

function launch(state: GraphState, batch: NonNullable<GraphState["batch"]>): void {
  state.ran = 0;
  state.eager += 1;
  state.shelf = [];
  const most = state.graphs[state.graphs.length - 1]?.size ?? 0;
  const key = batch.phase === "prefill" ? "cuda_graph_prefill" : "cuda_graph_eager";
  state.note = note(key, { reqs: batch.uids.map(name), n: batch.uids.length, tokens: batch.tokens, most });
}
