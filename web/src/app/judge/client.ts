/** Talking to the judge. */

import { at, site } from "../site-data";
import type { Submission, SubmissionBrief } from "../types";
import { lang } from "../words";

/** The judge refused: `message` is in the page's language, `status` the HTTP status. */
export class Refused extends Error {
  override name = "Refused";
  constructor(
    readonly status: number,
    message: string,
    readonly retryAfter: number | null,
  ) {
    super(message);
  }
}

/** The judge could not be reached. */
export class Unreachable extends Error {
  override name = "Unreachable";
}

/** The site is served without a judge: whoever answers here does not know its addresses. */
export class NoJudge extends Error {
  override name = "NoJudge";
}

interface Refusal {
  error?: { message?: Record<string, string> };
}

/** Whether a judge answers here, once the page's first question is answered; null before it was asked. */
let there: Promise<boolean> | null = null;

/**
 * Where there is no judge a page finds it out once: later questions wait for the answer to the first, and are not
 * asked where that was none. What somebody hands in is always sent.
 */
export async function ask<T>(path: string, options: RequestInit = {}): Promise<T> {
  if (site.judge === false) throw new NoJudge();
  if (there && options.method !== "POST" && !(await there)) throw new NoJudge();
  const answer = request<T>(path, options);
  there = answer.then(
    () => true,
    (error: unknown) => !(error instanceof NoJudge),
  );
  return answer;
}

async function request<T>(path: string, options: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(at(`api/v1${path}`), options);
  } catch {
    throw new Unreachable();
  }
  if (answer.status === 502 || answer.status === 504) throw new Unreachable();
  const isJson = answer.headers.get("content-type")?.includes("json") ?? false;
  const body = isJson ? ((await answer.json().catch(() => null)) as unknown) : null;
  if (!isJson && (answer.ok || [404, 405, 501].includes(answer.status))) throw new NoJudge();
  if (!answer.ok) {
    const message = (body as Refusal | null)?.error?.message?.[lang()] ?? `HTTP ${answer.status}`;
    throw new Refused(answer.status, message, Number(answer.headers.get("retry-after")) || null);
  }
  return body as T;
}

export interface JudgeSays {
  exercises: { id: number; state: "untouched" | "tried" | "accepted" }[];
  judge?: { python: string; isolation: string | null };
}

export const exercises = (): Promise<JudgeSays> => ask("/exercises");
export const submission = (id: number, trace = false): Promise<Submission> =>
  ask(`/submissions/${id}${trace ? "?trace=1" : ""}`);
export const solution = (exercise: number): Promise<{ code: string }> => ask(`/exercises/${exercise}/solution`);
export const submissions = (
  exercise: number,
  before?: number,
): Promise<{ submissions: SubmissionBrief[]; next: number | null }> =>
  ask(`/submissions?mine&exercise=${exercise}&limit=5${before ? `&before=${before}` : ""}`);

/** A name for a submission: sent again under the same, it does not become two. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export const send = (exercise: number, code: string, key: string, samplesOnly = false): Promise<SubmissionBrief> =>
  ask("/submissions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ exercise, code, samples_only: samplesOnly, key }),
  });
