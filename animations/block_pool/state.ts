/** What is known of the pool, and the values of learner code that are in it. */

import type { BaseState } from "../types";

export interface Block {
  /** Requests that use it; null where the class does not say. */
  ref: number | null;
  /** By which its content can be found; it goes when the block is allocated again. */
  key: string | null;
}

export interface BlockState extends BaseState {
  blocks: Block[];
  /** As the class has it: what is no number of a block is its text. */
  queue: (number | string)[];
  /** The operation of this step. */
  call: { op: string; args: string; gave: string } | null;
  /** The block that it is about. */
  at: number | null;
  /** The key that this block has just lost. */
  lost: string | null;
}

/** A block's number, if it is one of this pool. */
export function blockOf(state: BlockState, value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < state.blocks.length ? value : null;
}

/** A value of learner code in a few characters; an object that is no plain data by the name of its class. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return String(value);
  const other = (value as { other?: unknown }).other;
  if (typeof other === "string") return other;
  return Array.isArray(value) ? "list" : "dict";
}
