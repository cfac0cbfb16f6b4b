/** What the pages read: exercises as tools/site/data.py writes them, results as the judge sends them. */

import type { ExerciseSpec, TraceEvent, Words } from "../runner/types";
import type { Lang } from "./words";

export interface ExerciseData extends ExerciseSpec {
  lang: Lang;
  name: string;
  title: string;
  chapter: string;
  points: number;
  minutes: number;
  form: string;
  filename: string;
  starter: string;
  /** The starter in the other language: it is no draft, either. */
  starterOther: string;
  rules: Record<string, string>;
  hints: string[];
  limits: { cpu_s: number; memory_mb: number; source_kb: number };
  /** Names of animations that play a run of it, the best first. */
  animations: string[];
  prompts: string[];
  next: { id: number; name: string; title: string } | null;
}

export const VERDICTS = ["AC", "WA", "RE", "TLE", "MLE", "OLE", "CE", "PE", "SE"] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface Group {
  name: string;
  title: Words;
  verdict: Verdict | null;
  passed: number;
  total: number;
  score: number;
  seconds: number | null;
}

export interface JudgedSample {
  name: string;
  ok: boolean;
  title: Partial<Words>;
  line: number | null;
  assertion: string;
  expected: string;
  got: string;
  message: Partial<Words>;
  stdout: string;
}

export interface Engine {
  verdict: Verdict;
  texts: { prompt: string; text: string; tokens: number; cached: number }[];
  tokens_equal: boolean;
  tokens: number;
  tokens_matching: number;
  pages_balanced: boolean;
  pages_total: number;
  pages_free: number;
  pages_cached: number;
  speed_ratio: number | null;
  model: string;
  device: string;
}

/** The one JSON object of a run. */
export interface Result {
  exercise: number;
  verdict: Verdict;
  score: number;
  message: Words;
  groups: Group[];
  rule: number | null;
  diagnosis: Words | null;
  engine: Engine | null;
  samples: JudgedSample[];
  times: { size: number; seconds: number; reference: number }[];
  isolation: string;
  seconds: number;
  memory_mb: number | null;
  line: number | null;
  trace?: TraceEvent[];
}

export interface SubmissionBrief {
  id: number;
  exercise: number;
  status: "queued" | "running" | "done";
  attempt: number;
  created_at: string;
  verdict: Verdict | null;
  score: number | null;
}

export interface Submission extends SubmissionBrief {
  code: string;
  result: Result | null;
}

/** The colour of a verdict. */
export type Look = "ok" | "wrong" | "limit" | "fault";

export function look(verdict: Verdict): Look {
  if (verdict === "AC") return "ok";
  if (verdict === "SE") return "fault";
  return verdict === "TLE" || verdict === "MLE" || verdict === "OLE" ? "limit" : "wrong";
}

export const counts = (verdict: Verdict): boolean => verdict !== "SE" && verdict !== "CE";
