/** A forward on several ranks: who computes alone, and where all add up or join what they have. */

import { cutSteps, withEnd, type Cut } from "../steps";
import { count } from "../trace";
import type { BaseState, Step, TraceEvent } from "../types";
import { note } from "../words";

export type Kind = "embed" | "attention" | "mlp" | "head" | "other";

export interface Meeting {
  type: "all_reduce" | "all_gather";
  kind: Kind;
  layer: number | null;
  elements: number;
  bytes: number;
}

export interface ParallelState extends BaseState {
  ranks: number;
  /** What the whole forward will be, known from the trace. */
  plan: Meeting[];
  /** How many of the plan are done. */
  done: number;
  forward: number;
  phase: string;
  tokens: number;
  running: boolean;
  reduces: number;
  gathers: number;
  bytes: number;
  before: number;
}

export function start(events: readonly TraceEvent[]): ParallelState {
  const setup = events.find((event) => event.type === "setup");
  const ranks = setup ? Math.min(8, Math.max(1, count(setup, "ranks"))) : 1;
  const meets = events.some((event) => event.type === "all_reduce" || event.type === "all_gather");
  const counted = { done: 0, forward: 0, phase: "", tokens: 0, running: false, reduces: 0, gathers: 0, bytes: 0, before: 0 };
  return { ranks: meets ? Math.max(2, ranks) : ranks, plan: [], ...counted, note: null, alerts: [] };
}

export function begin(): void {}

/** Steps: a forward begins, each meeting, and its end. */
export function steps(events: readonly TraceEvent[]): Step[] {
  const rule = (event: TraceEvent): Cut => {
    switch (event.type) {
      case "setup":
      case "forward_start":
      case "all_reduce":
      case "all_gather":
      case "forward_end":
        return "ends";
      case "batch":
        return "joins";
      default:
        return "after";
    }
  };
  return withEnd(events, cutSteps(events, rule));
}

export function apply(state: ParallelState, event: TraceEvent, index: number, events: readonly TraceEvent[]): void {
  switch (event.type) {
    case "setup":
      state.note = note("tensor_parallel_setup", { n: state.ranks });
      return;
    case "forward_start":
      state.forward += 1;
      state.plan = planFrom(events, index);
      Object.assign(state, { done: 0, running: true, tokens: count(event, "tokens"), before: state.bytes });
      state.phase = event["phase"] === "decode" ? "decode" : "prefill";
      state.note = note(`tensor_parallel_${state.phase}`, { k: state.forward, n: state.tokens, ranks: state.ranks });
      return;
    case "all_reduce":
    case "all_gather":
      return meet(state, event);
    case "forward_end": {
      const [reduces, gathers] = (["all_reduce", "all_gather"] as const).map((type) => state.plan.filter((one) => one.type === type).length);
      state.running = false;
      state.note = note("tensor_parallel_forward_end", { k: state.forward, reduces: reduces ?? 0, gathers: gathers ?? 0, bytes: state.bytes - state.before });
      return;
    }
  }
}

export function end(state: ParallelState, step: Step): void {
  if (step.kind !== "end") return;
  const values = { k: state.forward, reduces: state.reduces, gathers: state.gathers, bytes: state.bytes, ranks: state.ranks };
  state.note = note(state.running ? "tensor_parallel_stopped" : "tensor_parallel_end", values);
}

/** The meetings of the forward that begins at `index`. */
function planFrom(events: readonly TraceEvent[], index: number): Meeting[] {
  const plan: Meeting[] = [];
  for (let i = index + 1; i < events.length; i += 1) {
    const event = events[i] as TraceEvent;
    if (event.type === "forward_end" || event.type === "forward_start") break;
    if (event.type !== "all_reduce" && event.type !== "all_gather") continue;
    plan.push({ type: event.type, kind: "other", layer: null, elements: count(event, "elements"), bytes: count(event, "bytes") });
  }
  const reduces = plan.filter((one) => one.type === "all_reduce");
  // one for the embedding, then two a layer: after attention and after the MLP
  if (reduces.length % 2 === 1) {
    reduces.forEach((one, i) => {
      one.kind = i === 0 ? "embed" : i % 2 === 1 ? "attention" : "mlp";
      one.layer = i === 0 ? null : Math.floor((i - 1) / 2);
    });
  }
  for (const one of plan) if (one.type === "all_gather") one.kind = "head";
  return plan;
}

function meet(state: ParallelState, event: TraceEvent): void {
  const now = state.plan[state.done];
  state.done += 1;
  state.bytes += count(event, "bytes");
  state[event.type === "all_reduce" ? "reduces" : "gathers"] += 1;
  const kind = now?.kind ?? "other";
  const values = { elements: count(event, "elements"), bytes: count(event, "bytes"), layer: now?.layer ?? 0, ranks: state.ranks, n: state.tokens };
  state.note = note(kind === "other" ? `tensor_parallel_${event.type}` : `tensor_parallel_${kind}`, values);
}
