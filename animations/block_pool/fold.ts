/** A pool of blocks with reference counts and a free queue, operation by operation, as a learner's class says it is. */

import { cutSteps, withEnd, type Cut } from "../steps";
import { text } from "../trace";
import type { Note, Step, TraceEvent } from "../types";
import { note } from "../words";
import { broken } from "./broken";
import { type Block, type BlockState, blockOf, shown } from "./state";

export type { BlockState } from "./state";

const MOST_BLOCKS = 64;

export function start(): BlockState {
  return { blocks: [], queue: [], call: null, at: null, lost: null, note: null, alerts: [] };
}

export function begin(state: BlockState): void {
  state.call = state.at = state.lost = null;
}

export function steps(events: readonly TraceEvent[]): Step[] {
  return withEnd(events, cutSteps(events, (event): Cut => (event.type === "block_pool" ? "ends" : "after")));
}

export function apply(state: BlockState, event: TraceEvent): void {
  if (event.type !== "block_pool") return;
  const before = structuredClone(state);
  const args = Array.isArray(event["args"]) ? (event["args"] as unknown[]) : [];
  const op = text(event, "op");
  if (op === "new") state.blocks = Array.from({ length: sizeOf(args[0]) }, () => ({ ref: null, key: null }));
  takeLists(state, event);
  const raised = text(event, "raised");
  const result = event["result"];
  const gave = raised || (result === null || result === undefined ? "" : shown(result));
  state.call = { op: op === "new" ? "BlockPool" : op, args: args.map(shown).join(", "), gave };
  state.at = blockOf(state, op === "allocate" || op === "lookup" ? result : args[0]);
  if (!raised && state.at !== null) {
    const block = state.blocks[state.at] as Block;
    if (op === "allocate") [state.lost, block.key] = [block.key, null];
    if (op === "publish") block.key = String(args[1] ?? "");
  }
  const key = String(op === "lookup" ? (args[0] ?? "") : "");
  state.alerts = broken(before, state, event, { op, key, result, raised });
  const right = state.alerts.length === 0;
  state.note = told(before, state, { op, key, raised, right });
}

export function end(state: BlockState, step: Step): void {
  if (step.kind !== "end") return;
  const held = state.blocks.filter((one) => (one.ref ?? 0) > 0).length;
  state.note = note("block_pool_end", { total: state.blocks.length, held, free: state.blocks.length - held });
}

function sizeOf(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) ? Math.max(0, Math.min(value, MOST_BLOCKS)) : 0;
}

/** Both lists as they are after the operation; at most so much of the queue as can be right, and one more. */
function takeLists(state: BlockState, event: TraceEvent): void {
  const queue = Array.isArray(event["queue"]) ? (event["queue"] as unknown[]) : [];
  state.queue = queue.slice(0, state.blocks.length + 1).map((one) => blockOf(state, one) ?? shown(one));
  const ref = Array.isArray(event["ref"]) ? (event["ref"] as unknown[]) : [];
  state.blocks.forEach((block, i) => (block.ref = typeof ref[i] === "number" ? (ref[i] as number) : null));
}

interface Told {
  op: string;
  key: string;
  raised: string;
  /** Else the sentence says no more than what was called. */
  right: boolean;
}

function told(before: BlockState, state: BlockState, { op, key, raised, right }: Told): Note {
  const call = `${state.call?.op}(${state.call?.args})`;
  if (raised) return note(op === "allocate" && before.queue.length === 0 ? "block_pool_exhausted" : "block_pool_raised", { call, raised });
  if (op === "new" && right) return note("block_pool_new", { n: state.blocks.length });
  if (op === "lookup" && right && state.at === null) return note("block_pool_miss", { key });
  const [old, now] = [before.blocks[state.at ?? -1], state.blocks[state.at ?? -1]];
  const gave = state.call?.gave || "None";
  if (!right || !old || !now) return note(op === "new" ? "block_pool_made" : "block_pool_gave", { call, gave });
  const values = { block: state.at ?? 0, n: now.ref ?? 0, key: old.key ?? now.key ?? "" };
  return note(`block_pool_${kindOf(op, old, now)}`, { ...values, key: op === "lookup" ? key : values.key });
}

/** What the operation meant for the block. */
function kindOf(op: string, old: Block, now: Block): string {
  const free = (old.ref ?? 0) === 0;
  switch (op) {
    case "allocate":
      return old.key === null ? "allocate" : "allocate_lost";
    case "lookup":
      return free ? "hit_free" : "hit";
    case "touch":
      return free ? "touch_free" : "touch";
    case "free":
      if ((now.ref ?? 0) > 0) return "free_held";
      return now.key === null ? "free_plain" : "free_keyed";
    default:
      return "publish";
  }
}
