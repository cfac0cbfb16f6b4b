/** What the runner asks of Python, with the report of a run that ended without one of its own. */
import * as decode from "./decode";
import { asksForModel } from "./model";
import type { ExerciseSpec, GenerateReport, GenerateRequest, RunReport, SampleResult, SamplesReport, TokenEvent } from "./types";
import { words } from "./words";

export const SAMPLES_S = 5;
export const GENERATE_S = 60;
export const RUN_S = 10;

/** What a call of the runner is, beside its report. */
export interface Call<Report> {
  what: "samples" | "generate" | "run";
  args: unknown;
  seconds: number;
  model: boolean;
  read(data: unknown): decode.Raw<Report>;
  /** The report of a run that ended without one of its own. */
  lost(seconds: number, because: "garbled" | "ended"): decode.Raw<Report>;
}

/** `results`: the samples that have ended so far. */
export function samplesCall(exercise: ExerciseSpec, code: string, seconds: number, results: SampleResult[]): Call<SamplesReport> {
  return {
    what: "samples",
    args: { exercise, code },
    seconds,
    model: false,
    read: decode.samplesReport,
    lost: (_seconds, because) => ({
      results,
      stopped: null,
      cannot: because === "garbled" ? cannot(words.garbled()) : null,
    }),
  };
}

/** `tokens`: those that have come so far. */
export function generateCall(request: GenerateRequest, seconds: number, tokens: TokenEvent[]): Call<GenerateReport> {
  return {
    what: "generate",
    args: request,
    seconds,
    model: request.exercise?.ownRun?.engine ?? true,
    read: decode.generateReport,
    lost: (taken, because) => ({
      ...partial(tokens, request.prompts.length, taken),
      error: because === "garbled" ? { line: null, message: words.garbled() } : null,
    }),
  };
}

/** `printed` tells what has been printed so far. */
export function runCall(code: string, seconds: number, printed: () => string): Call<RunReport> {
  return {
    what: "run",
    args: { code },
    seconds,
    model: asksForModel(code),
    read: decode.runReport,
    lost: (taken, because) => ({
      stdout: printed(),
      value: null,
      stopped: null,
      cannot: null,
      error: because === "garbled" ? { line: null, message: words.garbled() } : null,
      seconds: taken,
    }),
  };
}

function cannot(message: { zh: string; en: string }): SamplesReport["cannot"] {
  return { kind: "exception", line: null, column: null, message };
}

function partial(events: TokenEvent[], prompts: number, seconds: number): decode.Raw<GenerateReport> {
  const of = (index: number) => events.filter((event) => event.index === index);
  const indices = Array.from({ length: prompts }, (_, index) => index);
  return {
    texts: indices.map((index) => of(index).map((event) => event.text).join("")),
    tokens: indices.map((index) => of(index).map((event) => event.token)),
    cached: indices.map(() => 0),
    finish: indices.map(() => "abort" as const),
    seconds,
    tokensPerSecond: seconds > 0 ? events.length / seconds : 0,
    trace: [],
    pages: null,
    tokensEqual: null,
    used: [],
    stopped: null,
    cannot: null,
    error: null,
  };
}
