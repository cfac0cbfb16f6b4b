/** What the animation of the KV pool knows at a step. */

import type { BaseState } from "../types";

/** "free", "cache", "new" (allocated, in no row yet), "lost" (nobody's), or a request's name. */
export type Owner = string;

export interface Page {
  owner: Owner;
  /** Tokens in it. */
  fill: number;
  touched: boolean;
  freed: boolean;
}

export interface Row {
  /** First location of the page of each part of `size` positions. */
  pages: number[];
  length: number;
  /** Positions whose KV is computed. */
  computed: number;
  /** Tokens of the prefix that it holds locked. */
  locked: number;
}

/** A call of `cache_req`, from its insertion on. */
export interface Call {
  req: number;
  number: number;
  finished: boolean | null;
  /** old.cached_len, cached_len, new.cached_len, req.cached_len */
  bounds: [number, number, number, number];
  /** Pages of the row now, and those that it named before where that has changed. */
  row: number[];
  before: Record<number, number>;
  /** Its last event belongs to this step. */
  over: boolean;
  /** The region that the last event was about. */
  region: "A" | "B" | "C" | "D" | null;
}

export interface PoolState extends BaseState {
  size: number;
  pages: Page[];
  rows: Record<number, Row>;
  /** Requests in the order of their admission: it gives them their colours. */
  order: number[];
  /** Length of the prompts of those who wait. */
  prompts: Record<number, number>;
  batch: { phase: string; uids: number[]; tokens: number[] } | null;
  call: Call | null;
  calls: number;
}

/** How many pages each kind of owner has. */
export function tally(state: PoolState): { free: number; held: number; cached: number; lost: number } {
  const of = { free: 0, held: 0, cached: 0, lost: 0 };
  for (const { owner } of state.pages) {
    of[owner === "free" || owner === "lost" ? owner : owner === "cache" ? "cached" : "held"] += 1;
  }
  return of;
}

/** First locations of an owner's pages. */
export function owned(state: PoolState, owner: Owner): number[] {
  return state.pages.flatMap((page, i) => (page.owner === owner ? [i * state.size] : []));
}

/** The requests whose rows name a page, in the order of their admission. */
export function namedBy(state: PoolState, place: number): number[] {
  return state.order.filter((req) => state.rows[req]?.pages.includes(place));
}

export function page(state: PoolState, place: number): Page | null {
  return state.pages[Math.floor(place / state.size)] ?? null;
}

/** First location of the page of a location. */
export const first = (state: PoolState, place: number): number => place - (place % state.size);

export function own(state: PoolState, place: number, owner: Owner): void {
  const one = page(state, place);
  if (one) Object.assign(one, { owner, touched: true, fill: owner === "cache" ? state.size : 0 });
}
