/** Strict readers for what comes out of the worker: learner code may have written any of it. */
import type {
  CannotRun,
  GenerateReport,
  LintItem,
  RunReport,
  SampleResult,
  SamplesReport,
  TokenEvent,
  TraceEvent,
  Words,
} from "./types";
import type { FromWorker } from "./wire";

/** What came is not what a report may be. */
export class Malformed extends Error {
  override name = "Malformed";
}

/** As the worker tells it: whether the page's limit or its stop button was behind an interrupt, the page knows. */
export type RawStopped =
  | { why: "interrupt"; line: number | null; hits: number | null }
  | { why: "output"; bytes: number }
  | { why: "memory" };

export type Raw<Report> = Omit<Report, "stopped"> & { stopped: RawStopped | null };

type Reader<T> = (value: unknown) => T;

const LONGEST_TEXT = 200_000;
const MOST_ITEMS = 100_000;

export function parseMessage(text: string): FromWorker {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Malformed("no JSON");
  }
  const message = object(value);
  const type = oneOf("step", "ready", "loaded", "dead", "begun", "output", "sample", "token", "end")(message["type"]);
  if (type === "ready" || type === "loaded") return { type };
  if (type === "step") return { type, step: oneOf("python", "numpy", "engine")(message["step"]) };
  if (type === "dead") return { type, message: string(message["message"]) };
  if (type === "begun") return { type, id: string(message["id"]) };
  return { type, id: string(message["id"]), data: message["data"] };
}

export const string: Reader<string> = (value) => {
  if (typeof value !== "string" || value.length > LONGEST_TEXT) throw new Malformed("no text");
  return value;
};

export const sample: Reader<SampleResult> = (value) => {
  const one = object(value);
  return {
    name: string(one["name"]),
    ok: boolean(one["ok"]),
    title: words(one["title"]),
    line: nullable(count)(one["line"]),
    sampleLine: nullable(count)(one["sampleLine"]),
    assertion: nullable(string)(one["assertion"]),
    expected: nullable(string)(one["expected"]),
    got: nullable(string)(one["got"]),
    message: nullable(words)(one["message"]),
    stdout: string(one["stdout"]),
    seconds: number(one["seconds"]),
  };
};

export const samplesReport: Reader<Raw<SamplesReport>> = (value) => {
  const report = object(value);
  return {
    results: list(sample)(report["results"]),
    stopped: nullable(stopped)(report["stopped"]),
    cannot: nullable(cannot)(report["cannot"]),
  };
};

export const token: Reader<TokenEvent> = (value) => {
  const one = object(value);
  return {
    index: count(one["index"]),
    text: string(one["text"]),
    token: count(one["token"]),
    cached: count(one["cached"]),
  };
};

export const generateReport: Reader<Raw<GenerateReport>> = (value) => {
  const report = object(value);
  return {
    texts: list(string)(report["texts"]),
    tokens: list(list(count))(report["tokens"]),
    cached: list(count)(report["cached"]),
    finish: list(oneOf("stop", "length", "abort"))(report["finish"]),
    seconds: number(report["seconds"]),
    tokensPerSecond: number(report["tokensPerSecond"]),
    trace: list(traceEvent)(report["trace"]),
    pages: nullable(pages)(report["pages"]),
    tokensEqual: nullable(boolean)(report["tokensEqual"]),
    used: list(count)(report["used"]),
    stopped: nullable(stopped)(report["stopped"]),
    cannot: nullable(cannot)(report["cannot"]),
    error: nullable(failure)(report["error"]),
  };
};

export const runReport: Reader<Raw<RunReport>> = (value) => {
  const report = object(value);
  return {
    stdout: string(report["stdout"]),
    value: nullable(string)(report["value"]),
    stopped: nullable(stopped)(report["stopped"]),
    cannot: nullable(cannot)(report["cannot"]),
    error: nullable(failure)(report["error"]),
    seconds: number(report["seconds"]),
  };
};

export const lintItems: Reader<LintItem[]> = (value) =>
  list((item) => {
    const one = object(item);
    return {
      line: count(one["line"]),
      column: count(one["column"]),
      endLine: count(one["endLine"]),
      endColumn: count(one["endColumn"]),
      severity: oneOf("error", "warning")(one["severity"]),
      message: words(one["message"]),
    };
  })(object(value)["items"]);

const words: Reader<Words> = (value) => {
  const both = object(value);
  return { zh: string(both["zh"]), en: string(both["en"]) };
};

const stopped: Reader<RawStopped> = (value) => {
  const one = object(value);
  const why = oneOf("interrupt", "output", "memory")(one["why"]);
  if (why === "memory") return { why };
  if (why === "output") return { why, bytes: count(one["bytes"]) };
  return { why, line: nullable(count)(one["line"]), hits: nullable(count)(one["hits"] ?? null) };
};

const cannot: Reader<CannotRun> = (value) => {
  const one = object(value);
  const kinds = ["syntax", "missing_name", "wrong_kind", "wrong_signature", "import", "exception", "empty"] as const;
  return {
    kind: oneOf(...kinds)(one["kind"]),
    line: nullable(count)(one["line"]),
    column: nullable(count)(one["column"]),
    message: words(one["message"]),
  };
};

const failure: Reader<{ line: number | null; message: Words }> = (value) => {
  const one = object(value);
  return { line: nullable(count)(one["line"]), message: words(one["message"]) };
};

const pages: Reader<NonNullable<GenerateReport["pages"]>> = (value) => {
  const one = object(value);
  return {
    free: count(one["free"]),
    cached: count(one["cached"]),
    total: count(one["total"]),
    leaked: count(one["leaked"]),
  };
};

/** Plain data by what it came as, JSON; the fields of a type are for who plays it to check. */
const traceEvent: Reader<TraceEvent> = (value) => {
  const event = object(value);
  count(event["v"]);
  count(event["seq"]);
  number(event["t"]);
  string(event["type"]);
  return event as TraceEvent;
};

function object(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Malformed("no object");
  return value as Record<string, unknown>;
}

function boolean(value: unknown): boolean {
  if (typeof value !== "boolean") throw new Malformed("no truth value");
  return value;
}

function number(value: unknown): number {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new Malformed("no number");
  return value;
}

function count(value: unknown): number {
  const found = number(value);
  if (!Number.isInteger(found) || found < 0) throw new Malformed("no count");
  return found;
}

function oneOf<const T extends string>(...choices: T[]): Reader<T> {
  return (value) => {
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw new Malformed(`none of ${choices.join(", ")}`);
    return found;
  };
}

function nullable<T>(reader: Reader<T>): Reader<T | null> {
  return (value) => (value === null ? null : reader(value));
}

function list<T>(reader: Reader<T>): Reader<T[]> {
  return (value) => {
    if (!Array.isArray(value) || value.length > MOST_ITEMS) throw new Malformed("no list");
    return value.map(reader);
  };
}
