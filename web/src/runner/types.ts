/**
 * What a page asks of Python in the tab, and what it hears back.
 *
 * The learner's code runs in a worker inside a sandboxed frame of its own origin, without network, storage or the
 * site's session. The page holds a `Runner`; nothing that comes through it is ever taken as a verdict.
 */

/** The public part of an exercise, as the page's data holds it. */
export interface ExerciseSpec {
  id: number;
  slug: string;
  /** `minisgl.scheduler.cache:CacheManager.cache_req`, or a bare name. */
  target: string;
  place: "engine" | "adapter" | "none";
  members: string[];
  /** The definition that is due, without bodies: `judge.source.interface`. */
  interface: string;
  /** all: samples and the engine run in the tab; unit: samples only; server: nothing does. */
  browser: "all" | "unit" | "server";
  /** Source of `samples.py`. */
  samples: string;
  /** Source of `own_run.py`, which plays the code where the engine does not call it; `engine`: it asks for a run of the engine. */
  ownRun?: { source: string; engine: boolean } | null;
}

/** Two languages, as everywhere. */
export interface Words {
  zh: string;
  en: string;
}

export interface SampleResult {
  name: string;
  ok: boolean;
  title: Words;
  /** Line of the learner's file where it went wrong, 1 based. */
  line: number | null;
  /** Line of `samples.py` that failed. */
  sampleLine: number | null;
  assertion: string | null;
  expected: string | null;
  got: string | null;
  message: Words | null;
  stdout: string;
  seconds: number;
}

/** Why a run did not end by itself. */
export type Stopped =
  | { why: "time"; seconds: number; line: number | null; hits: number | null }
  | { why: "user" }
  | { why: "output"; bytes: number }
  | { why: "memory" }
  /** Nothing has run: the code is nested too deeply for Python in the tab to read. */
  | { why: "nested" }
  /** Python itself is gone: `os._exit`, a crash, a recursion too deep for it, or messages that none of ours sends. */
  | { why: "ended" };

/** The file cannot be run at all. */
export interface CannotRun {
  kind: "syntax" | "missing_name" | "wrong_kind" | "wrong_signature" | "import" | "exception" | "empty";
  line: number | null;
  column: number | null;
  message: Words;
}

export interface SamplesReport {
  results: SampleResult[];
  stopped: Stopped | null;
  cannot: CannotRun | null;
}

/** An event of `minisgl.utils.trace`; formats and types as in `trace.schema.json`. */
export type TraceEvent = { v: number; seq: number; t: number; type: string; req?: string | number; line?: number } & Record<
  string,
  unknown
>;

export interface GenerateRequest {
  /** With it and `code`, the learner's function is in the engine, or `ownRun` plays it; without, the reference runs. */
  exercise?: ExerciseSpec;
  code?: string;
  /** Several of the learner's functions, all in the engine at once, in place of the two above. */
  functions?: { exercise: ExerciseSpec; code: string }[];
  prompts: string[];
  maxTokens: number;
  temperature?: number;
  seed?: number;
  chat?: boolean;
  trace?: boolean;
}

export interface TokenEvent {
  /** Which prompt. */
  index: number;
  /** Text that this token completes; may be empty in the middle of a character. */
  text: string;
  token: number;
  /** Tokens of this prompt taken from the prefix cache. */
  cached: number;
}

export interface GenerateReport {
  texts: string[];
  tokens: number[][];
  /** For each prompt, its tokens that were taken from the prefix cache. */
  cached: number[];
  finish: ("stop" | "length" | "abort")[];
  seconds: number;
  tokensPerSecond: number;
  trace: TraceEvent[];
  /** Free, cached and all pages at the end; `leaked` pages have no owner. */
  pages: { free: number; cached: number; total: number; leaked: number } | null;
  /** Whether a reference run on the same prompts gave the same tokens; null where none was made. */
  tokensEqual: boolean | null;
  /** Of `functions` those that were in the engine, by exercise: some go with no others, or were replaced by later ones. */
  used: number[];
  stopped: Stopped | null;
  cannot: CannotRun | null;
  /** An exception in the learner's function or in the engine behind it. */
  error: { line: number | null; message: Words } | null;
}

export interface RunReport {
  stdout: string;
  /** `repr` of the last expression, if the code ends in one. */
  value: string | null;
  stopped: Stopped | null;
  cannot: CannotRun | null;
  error: { line: number | null; message: Words } | null;
  seconds: number;
}

export interface LintItem {
  line: number;
  column: number;
  endLine: number;
  endColumn: number;
  severity: "error" | "warning";
  message: Words;
}

export type RunnerState =
  | { phase: "idle" }
  | { phase: "loading"; step: "python" | "numpy" | "engine" | "model"; loaded: number; total: number }
  | { phase: "ready"; coldSeconds: number }
  | { phase: "busy"; what: "samples" | "generate" | "run" }
  | { phase: "failed"; message: Words };

export interface RunnerListeners {
  onState?(state: RunnerState): void;
  onOutput?(text: string): void;
  onSample?(result: SampleResult): void;
  onToken?(token: TokenEvent): void;
}

/** Python in the tab. One task at a time; a second call rejects with `RunnerBusy`. */
export interface Runner {
  readonly state: RunnerState;
  listen(listeners: RunnerListeners): () => void;
  /** Load in the background; repeated calls are one. `model` also loads the engine and the bundled model. */
  warm(what?: "python" | "model"): Promise<void>;
  samples(exercise: ExerciseSpec, code: string, options?: { seconds?: number }): Promise<SamplesReport>;
  generate(request: GenerateRequest, options?: { seconds?: number }): Promise<GenerateReport>;
  /** Free code, as in the playground; `torch` and `minisgl` can be imported. */
  run(code: string, options?: { seconds?: number }): Promise<RunReport>;
  /** Marks for the editor; none before Python is loaded, which this does not cause. Rejects while another task runs. */
  lint(code: string): Promise<LintItem[]>;
  /** Interrupt; after a second of grace the worker is ended and a spare takes over. */
  stop(): void;
  dispose(): void;
}

export class RunnerBusy extends Error {
  override name = "RunnerBusy";
}
