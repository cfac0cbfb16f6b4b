/** How far each exercise has come, by what this device and the judge know. */

import type { SubmissionBrief, Verdict } from "../types";
import { counts } from "../types";
import type { Store } from "./database";
import type { Progress, Try } from "./tables";

export type Standing = "untouched" | "tried" | "accepted";
const CHANNEL = "minisgl:progress";

/** Exercise to state; what is not there is untouched. */
export async function standings(store: Store): Promise<Map<number, Progress>> {
  return new Map((await store.all("progress")).map((one) => [one.exercise, one]));
}

/** Note a verdict. A pass is never taken back. */
export async function noteVerdict(store: Store, exercise: number, verdict: Verdict, code?: string): Promise<void> {
  if (!counts(verdict)) return;
  await note(store, exercise, verdict === "AC" ? "accepted" : "tried", code);
}

/** Note what the judge says of an exercise. */
export async function note(store: Store, exercise: number, state: Standing, code?: string): Promise<void> {
  if (state === "untouched") return;
  let changed = false;
  await store.change("progress", String(exercise), (old) => {
    if (old?.state === "accepted" && (state !== "accepted" || !code || old.code === code)) return undefined;
    if (old?.state === state && !code) return undefined;
    changed = old?.state !== state;
    const fresh: Progress = { key: String(exercise), exercise, state, at: old?.state === state ? old.at : Date.now() };
    const kept = state === "accepted" ? (code ?? old?.code) : undefined;
    return kept === undefined ? fresh : { ...fresh, code: kept };
  });
  if (changed && typeof BroadcastChannel !== "undefined") {
    const channel = new BroadcastChannel(CHANNEL);
    channel.postMessage(null);
    channel.close();
  }
}

/** Call `changed` when another window notes something new. */
export function onProgress(changed: () => void): void {
  if (typeof BroadcastChannel !== "undefined") new BroadcastChannel(CHANNEL).addEventListener("message", changed);
}

/** Keep a judged submission for reading without the judge. */
export async function keepTry(store: Store, one: SubmissionBrief & { code: string }): Promise<void> {
  if (one.verdict === null) return;
  const kept: Try = {
    key: `${one.exercise}:${one.id}`,
    exercise: one.exercise,
    id: one.id,
    at: Date.parse(one.created_at) || Date.now(),
    verdict: one.verdict,
    score: one.score ?? 0,
    code: one.code,
  };
  await store.put("tries", kept);
}

export async function keptTries(store: Store, exercise: number): Promise<Try[]> {
  return (await store.all("tries")).filter((one) => one.exercise === exercise).sort((a, b) => b.at - a.at);
}
