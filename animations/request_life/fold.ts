/** Messages between the processes of a server, and what the scheduler does between them. */

import { cutSteps, withEnd, type Cut } from "../steps";
import { count, counts, name, text, uid } from "../trace";
import type { BaseState, Step, TraceEvent } from "../types";
import { note } from "../words";

/** What is kept to be drawn: the last ones. */
const KEPT = 24;

export interface Entry {
  /** A message from one process to another, or (without `to`) something that the scheduler does. */
  from: string;
  to: string | null;
  what: string;
  bytes: number;
  uids: number[];
}

export interface Life {
  uid: number;
  at: string;
  tokens: number;
  done: boolean;
}

export interface LifeState extends BaseState {
  processes: string[];
  entries: Entry[];
  /** All entries, also those that are not kept. */
  count: number;
  messages: number;
  bytes: number;
  lives: Life[];
  batch: { phase: string; uids: number[] } | null;
}

const KNOWN = ["frontend", "tokenizer", "scheduler", "detokenizer"];

/** One lane for all processes of a kind: tokenizer0, tokenizer1, ... */
const lane = (process: string): string => process.replace(/\d+$/, "") || "?";

export function start(events: readonly TraceEvent[]): LifeState {
  const named = new Set<string>();
  for (const event of events) {
    if (event.type !== "message") continue;
    for (const field of ["source", "target"]) if (text(event, field)) named.add(lane(text(event, field)));
  }
  const known = KNOWN.filter((process) => named.has(process));
  const processes = [...known, ...[...named].filter((process) => !KNOWN.includes(process)).slice(0, 4)];
  const none = { entries: [], count: 0, messages: 0, bytes: 0, lives: [], batch: null };
  return { processes: processes.length > 0 ? processes : KNOWN, ...none, note: null, alerts: [] };
}

export function begin(): void {}

/** Steps: each message; the scheduler's forwards. */
export function steps(events: readonly TraceEvent[]): Step[] {
  const rule = (event: TraceEvent): Cut => {
    switch (event.type) {
      case "message":
      case "forward_end":
        return "ends";
      case "batch":
      case "forward_start":
        return "joins";
      default:
        return "after";
    }
  };
  return withEnd(events, cutSteps(events, rule));
}

export function apply(state: LifeState, event: TraceEvent): void {
  switch (event.type) {
    case "message":
      return message(state, event);
    case "batch":
      state.batch = { phase: event["phase"] === "decode" ? "decode" : "prefill", uids: counts(event, "uids") };
      return;
    case "forward_end": {
      if (!state.batch) return;
      const { phase, uids } = state.batch;
      add(state, { from: "scheduler", to: null, what: phase, bytes: 0, uids });
      for (const req of uids) move(state, req, "scheduler");
      state.note = note(`request_life_${phase}`, { reqs: uids.map(name), n: uids.length });
      state.batch = null;
      return;
    }
    case "sampled": {
      const req = uid(event);
      if (req !== null) lifeOf(state, req).tokens += 1;
      return;
    }
    case "cache_req": {
      const req = uid(event);
      if (req !== null && event["finished"] === true) lifeOf(state, req).done = true;
      return;
    }
  }
}

export function end(state: LifeState, step: Step): void {
  if (step.kind !== "end") return;
  const tokens = state.lives.reduce((sum, life) => sum + life.tokens, 0);
  state.note = note("request_life_end", { n: state.messages, bytes: state.bytes, tokens });
}

const WORDS: Record<string, string> = {
  TokenizeMsg: "tokenize",
  TokenizedReply: "tokenized",
  UserMsg: "user",
  DetokenizeMsg: "detokenize",
  BatchTokenizerMsg: "detokenize",
  BatchFrontendMsg: "reply",
  UserReply: "reply",
  AbortMsg: "abort",
  AbortBackendMsg: "abort",
};

function message(state: LifeState, event: TraceEvent): void {
  const [from, to] = [lane(text(event, "source")), lane(text(event, "target"))];
  const kind = text(event, "kind");
  const uids = [...new Set(counts(event, "uids"))];
  const bytes = count(event, "bytes");
  add(state, { from, to, what: kind, bytes, uids });
  state.messages += 1;
  state.bytes += bytes;
  for (const req of uids) move(state, req, to);
  const word = WORDS[kind];
  state.note = note(`request_life_${word ?? "message"}`, { kind, bytes, reqs: uids.map(name), n: uids.length });
}

function add(state: LifeState, entry: Entry): void {
  state.entries.push(entry);
  state.count += 1;
  if (state.entries.length > KEPT) state.entries.shift();
}

function lifeOf(state: LifeState, req: number): Life {
  let life = state.lives.find((one) => one.uid === req);
  if (!life) {
    life = { uid: req, at: "frontend", tokens: 0, done: false };
    state.lives.push(life);
  }
  return life;
}

function move(state: LifeState, req: number, process: string): void {
  lifeOf(state, req).at = process;
}
