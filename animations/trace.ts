/** Reads a trace, whatever it is: what is no event is left out and counted, never trusted. */

import type { TraceEvent } from "./types";

/** Of the format that these modules know. */
export const VERSION = 1;

export interface Trace {
  events: TraceEvent[];
  /** Lines or entries that are no events. */
  damaged: number;
  /** A version that is newer than these modules. */
  newer: number | null;
}

/** From an array of events, or from the text of a JSON Lines file. */
export function readTrace(given: unknown): Trace {
  const entries = typeof given === "string" ? parseLines(given) : Array.isArray(given) ? given : [];
  const trace: Trace = { events: [], damaged: 0, newer: null };
  for (const entry of entries) {
    if (!isEvent(entry)) {
      trace.damaged += 1;
    } else {
      if (typeof entry.v === "number" && entry.v > VERSION) trace.newer = Math.max(trace.newer ?? 0, entry.v);
      trace.events.push(entry);
    }
  }
  return trace;
}

function parseLines(text: string): unknown[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      try {
        return JSON.parse(line) as unknown;
      } catch {
        return null;
      }
    });
}

function isEvent(entry: unknown): entry is TraceEvent {
  return typeof entry === "object" && entry !== null && typeof (entry as TraceEvent).type === "string";
}

/** A field that should be a count; 0 for anything else. */
export function count(event: TraceEvent, field: string): number {
  const value = event[field];
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

/** A field that should be a list of counts; what is none is left out. */
export function counts(event: TraceEvent, field: string): number[] {
  const value = event[field];
  return Array.isArray(value) ? value.filter((item): item is number => Number.isSafeInteger(item) && item >= 0) : [];
}

/** A field that should be a word. */
export function text(event: TraceEvent, field: string): string {
  const value = event[field];
  return typeof value === "string" ? value : "";
}

/** The request that an event is about; null when it does not say. */
export function uid(event: TraceEvent): number | null {
  return typeof event.req === "number" && Number.isSafeInteger(event.req) && event.req >= 0 ? event.req : null;
}

/** A request's name. */
export const name = (req: number): string => `r${req}`;

/** Of the pool: from the trace's own word, or else from the pages that it names. */
export function poolOf(events: readonly TraceEvent[]): { pages: number; size: number; known: boolean } {
  let highest = -1;
  let divisor = 0;
  for (const event of events) {
    if (event.type === "setup") {
      const size = Math.max(1, count(event, "page_size"));
      return { pages: Math.min(count(event, "pages"), 1 << 20), size, known: true };
    }
    if (event.type === "allocate" || event.type === "free") {
      for (const page of counts(event, "pages")) divisor = gcd(divisor, page);
    }
    for (const field of ["pages", "locations"]) for (const place of counts(event, field)) highest = Math.max(highest, place);
  }
  const size = divisor || 1;
  return { pages: Math.min(Math.floor(highest / size) + 1, 1 << 20), size, known: false };
}

function gcd(a: number, b: number): number {
  while (b > 0) [a, b] = [b, a % b];
  return a;
}
