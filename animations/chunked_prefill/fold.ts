/** What each step computes: decodes, and prompts cut where the step's tokens end. */

import { cutSteps, withEnd, type Cut } from "../steps";
import { count, counts, name, uid } from "../trace";
import type { BaseState, Step, TraceEvent } from "../types";
import { note } from "../words";

export interface Part {
  req: number;
  /** Positions [from, to). */
  from: number;
  to: number;
  decode: boolean;
  /** The prompt goes on in a later step. */
  chunk: boolean;
}

export interface Request {
  uid: number;
  input: number;
  output: number;
  computed: number;
  generated: number;
  chunks: number;
  state: "waiting" | "prefilling" | "decoding" | "done";
}

export interface ChunkState extends BaseState {
  budget: number;
  columns: Part[][];
  reqs: Request[];
  order: number[];
  /** Sent back to the queue at this step. */
  fallen: number[];
}

export function start(events: readonly TraceEvent[]): ChunkState {
  const batches = events.filter((event) => event.type === "batch").map((event) => counts(event, "tokens"));
  const most = batches.reduce((most, tokens) => Math.max(most, tokens.reduce((sum, n) => sum + n, 0)), 1);
  const said = events.find((event) => event.type === "setup");
  const budget = Math.max(most, said ? Math.min(count(said, "token_budget"), most * 4) : 0);
  return { budget, columns: [], reqs: [], order: [], fallen: [], note: null, alerts: [] };
}

export function begin(state: ChunkState): void {
  state.fallen = [];
}

/** Steps: requests arrive; forwards; retractions. */
export function steps(events: readonly TraceEvent[]): Step[] {
  let [arriving, refused] = [false, ""];
  const rule = (event: TraceEvent): Cut => {
    const arrived = arriving;
    arriving = event.type === "queued";
    switch (event.type) {
      case "queued":
        return arrived ? "joins" : "opens";
      case "setup":
      case "forward_end":
        return "ends";
      case "retract":
      case "abort":
        return arrived ? "alone" : "ends";
      case "refused": {
        const [before, now] = [refused, `${event.req} ${String(event["why"])}`];
        refused = now;
        return before === now || event["why"] === "token budget" ? "joins" : "ends";
      }
      case "batch":
      case "admitted":
      case "match":
      case "allocate":
        return arrived ? "opens" : "joins";
      default:
        return "after";
    }
  };
  return withEnd(events, cutSteps(events, rule));
}

export function apply(state: ChunkState, event: TraceEvent): void {
  const req = uid(event);
  const one = req === null ? undefined : state.reqs.find((other) => other.uid === req);
  switch (event.type) {
    case "setup":
      state.note = note("chunked_prefill_setup", { n: count(event, "token_budget") });
      return;
    case "queued":
      if (req !== null) queue(state, req, event);
      return;
    case "admitted":
      if (req !== null && !state.order.includes(req)) state.order.push(req);
      if (one) Object.assign(one, { computed: count(event, "cached_len"), state: "prefilling" });
      return;
    case "refused": {
      const available = Math.max(0, count(event, "available") - count(event, "reserved"));
      state.note = note("chunked_prefill_refused", { req: req === null ? "?" : name(req), n: available });
      return;
    }
    case "batch":
      return batch(state, event);
    case "sampled":
      if (one) one.generated += 1;
      return;
    case "finished":
    case "abort":
      if (one) one.state = "done";
      if (event.type === "abort") state.note = note("chunked_prefill_abort", { req: req === null ? "?" : name(req) });
      return;
    case "retract":
      if (!one) return;
      Object.assign(one, { state: "waiting", computed: 0, chunks: 0, input: count(event, "input_len") });
      one.output = Math.max(0, one.output - one.generated);
      one.generated = 0;
      state.fallen.push(one.uid);
      state.note = note("chunked_prefill_retract", { req: name(one.uid), n: count(event, "cached_len"), len: one.input });
      return;
  }
}

export function end(state: ChunkState, step: Step): void {
  if (step.kind === "forward_end") state.note = describe(state);
  if (step.kind !== "end") return;
  const left = state.reqs.filter((one) => one.state !== "done").map((one) => name(one.uid));
  const tokens = state.columns.flat().reduce((sum, part) => sum + part.to - part.from, 0);
  state.note = left.length > 0 ? note("chunked_prefill_stopped", { reqs: left }) : note("chunked_prefill_end", { k: state.columns.length, tokens });
}

function queue(state: ChunkState, req: number, event: TraceEvent): void {
  state.reqs = state.reqs.filter((one) => one.uid !== req);
  const [input, output] = [count(event, "input_len"), count(event, "output_len")];
  state.reqs.push({ uid: req, input, output, computed: 0, generated: 0, chunks: 0, state: "waiting" });
  const waiting = state.reqs.filter((one) => one.state === "waiting").map((one) => `${name(one.uid)} ${one.input}`);
  state.note = note("chunked_prefill_queued", { reqs: waiting });
}

function batch(state: ChunkState, event: TraceEvent): void {
  const [uids, tokens] = [counts(event, "uids"), counts(event, "tokens")];
  const parts = uids.flatMap((req, i): Part[] => {
    const one = state.reqs.find((other) => other.uid === req);
    const n = tokens[i] ?? 0;
    if (!one || n === 0) return [];
    const decode = event["phase"] === "decode" || one.computed >= one.input;
    const part = { req, from: one.computed, to: one.computed + n, decode, chunk: !decode && one.computed + n < one.input };
    one.computed += n;
    one.chunks += decode ? 0 : 1;
    one.state = part.chunk ? "prefilling" : "decoding";
    return [part];
  });
  state.columns.push(parts);
}

function describe(state: ChunkState): ChunkState["note"] {
  const column = state.columns[state.columns.length - 1] ?? [];
  const k = state.columns.length;
  const decodes = column.filter((part) => part.decode);
  const prompts = column.filter((part) => !part.decode);
  const total = column.reduce((sum, part) => sum + part.to - part.from, 0);
  const pieces = prompts.map((part) => `${name(part.req)} [${part.from}, ${part.to})`);
  if (prompts.length === 0) return note("chunked_prefill_decode", { k, n: decodes.length, reqs: decodes.map((part) => name(part.req)) });
  const before = prompts.find((part) => part.from > 0);
  const key = decodes.length > 0 ? "chunked_prefill_mixed" : before ? "chunked_prefill_chunk" : "chunked_prefill_prefill";
  return note(key, { k, pieces, total, budget: state.budget, n: decodes.length, req: name((before ?? prompts[0] as Part).req), read: before?.from ?? 0 });
}
