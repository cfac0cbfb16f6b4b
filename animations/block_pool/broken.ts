/** What of the pool's contract an operation has broken, in words. */

import type { Note, TraceEvent } from "../types";
import { note } from "../words";
import { blockOf, type BlockState, shown } from "./state";

interface Done {
  op: string;
  key: string;
  result: unknown;
  raised: string;
}

export function broken(before: BlockState, state: BlockState, event: TraceEvent, done: Done): Note[] {
  return [...ofResult(before, state, done), ...ofCount(before, state, done), ...ofLists(state, event), ...ofPlace(state, done)];
}

function ofResult(before: BlockState, state: BlockState, { op, key, result, raised }: Done): Note[] {
  const exhausted = op === "allocate" && before.queue.length === 0;
  if (raised) {
    if (!exhausted) return [note("block_pool_undue", { raised })];
    return raised === "RuntimeError" ? [] : [note("block_pool_other_error", { raised })];
  }
  if (exhausted) return [note("block_pool_no_error", { gave: shown(result) })];
  const block = blockOf(state, result);
  if (op === "allocate") {
    if (block === null) return [note("block_pool_no_block", { op, gave: shown(result) })];
    const held = (before.blocks[block]?.ref ?? 0) > 0;
    if (held) return [note("block_pool_given_twice", { block })];
    return before.queue[0] === block ? [] : [note("block_pool_not_the_front", { block, front: before.queue[0] ?? "–" })];
  }
  if (op !== "lookup") return [];
  const due = before.blocks.findIndex((one) => one.key === key);
  if (block === null && result !== null && result !== undefined) return [note("block_pool_no_block", { op, gave: shown(result) })];
  if (block === null) return due < 0 ? [] : [note("block_pool_missed", { block: due, key })];
  return before.blocks[block]?.key === key ? [] : [note("block_pool_wrong_hit", { block, key })];
}

/** How the operation changes the count of its block. */
function ofCount(before: BlockState, state: BlockState, { op, raised }: Done): Note[] {
  const [old, now] = [before.blocks[state.at ?? -1]?.ref, state.blocks[state.at ?? -1]?.ref];
  if (raised || typeof old !== "number" || typeof now !== "number") return [];
  const due = op === "allocate" ? 1 : op === "touch" ? old + 1 : op === "free" ? old - 1 : old;
  return now === due ? [] : [note("block_pool_count", { block: state.at ?? 0, ref: now, due })];
}

/** In the queue, once, if and only if the count is 0. */
function ofLists(state: BlockState, event: TraceEvent): Note[] {
  const found: Note[] = [];
  const [queue, ref] = [event["queue"], event["ref"]];
  const size = state.blocks.length;
  const strange = state.queue.filter((one) => typeof one === "string");
  if (!Array.isArray(queue)) found.push(noList("queue", queue, size));
  else if (strange.length > 0) found.push(note("block_pool_strange", { gave: strange.slice(0, 3) }));
  if (!Array.isArray(ref)) found.push(noList("ref", ref, size));
  else if (ref.length !== size || state.blocks.some((one) => one.ref === null)) found.push(note("block_pool_no_counts", { n: size }));
  if (found.length > 0) return found;
  const times = (block: number): number => state.queue.filter((one) => one === block).length;
  const where = (holds: (ref: number, times: number) => boolean): number[] =>
    state.blocks.map((_, i) => i).filter((i) => holds(state.blocks[i]?.ref ?? 0, times(i)));
  const wrongs: [string, number[]][] = [
    ["block_pool_double", where((_, n) => n > 1)],
    ["block_pool_queued_held", where((ref, n) => ref !== 0 && n > 0)],
    ["block_pool_nowhere", where((ref, n) => ref === 0 && n === 0)],
  ];
  return wrongs.filter(([, blocks]) => blocks.length > 0).map(([key, blocks]) => note(key, { blocks }));
}

/** Of a list that is far too long just its class is in the trace. */
function noList(name: string, value: unknown, n: number): Note {
  const gave = shown(value);
  return gave === "list" ? note("block_pool_too_long", { name, n }) : note("block_pool_no_list", { name, gave });
}

/** A block that was given back stands where its key says. */
function ofPlace(state: BlockState, { op, raised }: Done): Note[] {
  if (op !== "free" || raised || state.at === null || !state.queue.includes(state.at)) return [];
  const keyed = state.blocks[state.at]?.key !== null;
  const due = keyed ? state.queue.length - 1 : 0;
  if (state.queue[due] === state.at) return [];
  return [note(keyed ? "block_pool_not_last" : "block_pool_not_first", { block: state.at })];
}
