/**
 * What is kept on the device: IndexedDB `minisgl`, one object store a table, each record under its own `key`.
 * Tables are added by a new version of the database (`database.ts`); fields are only ever added.
 */

import type { Look } from "../types";

/** The code in an editor. `key`: `ex:192`, `playground`. */
export interface Draft {
  key: string;
  code: string;
  at: number;
  /** Names this state, so that a window knows whether another has written since. */
  rev: string;
  /** The editor's state with its undo history, as CodeMirror serializes it. */
  state?: unknown;
}

/** Code that was replaced: by another window, by starting over, by an import. */
export interface Kept {
  key: string;
  draft: string;
  code: string;
  at: number;
  why: "other" | "over" | "import" | "share" | "solution";
}

/** A submission with its verdict. `key`: `192:17`, exercise and number of the submission. */
export interface Try {
  key: string;
  exercise: number;
  id: number;
  at: number;
  verdict: string;
  score: number;
  code: string;
}

/** How far an exercise has come; `hints` is how many were shown. */
export interface Progress {
  key: string;
  exercise: number;
  state: "tried" | "accepted";
  at: number;
  /** The accepted code, for the engine with the learner's own function. */
  code?: string;
}

/** A submission that has not reached the judge. `key` is the one sent with it, so that it becomes one only. */
export interface Pending {
  key: string;
  exercise: number;
  code: string;
  at: number;
}

/** A study card's memory. */
export interface CardState {
  key: string;
  /** Local day on which it is due, YYYY-MM-DD. */
  due: string;
  interval: number;
  ease: number;
  reps: number;
  lapses: number;
  last: string;
}

/** Whatever else is one of a kind: hints shown, the last text generated in the tab. */
export interface Meta {
  key: string;
  value: unknown;
}

export interface Tables {
  drafts: Draft;
  history: Kept;
  tries: Try;
  progress: Progress;
  outbox: Pending;
  cards: CardState;
  meta: Meta;
}

export type Table = keyof Tables;
export const TABLES: readonly Table[] = ["drafts", "history", "tries", "progress", "outbox", "cards", "meta"];

export interface LastRun {
  prompt: string;
  text: string;
  tokensPerSecond: number;
  /** The names of the learner's functions that were in the engine. */
  names?: string[];
  at: number;
  look?: Look;
}
