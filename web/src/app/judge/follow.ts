/** Following a submission to its verdict. */

import { at } from "../site-data";
import type { Result } from "../types";
import { submission } from "./client";

export interface Progressing {
  queued(event: { place?: number; again?: boolean }): void;
  running(event: object): void;
  group(event: { number: number; groups: number }): void;
  engine(event: object): void;
  token(event: { request?: number; prompt?: string; text?: string }): void;
  verdict(event: { result: Result; attempt?: number }): void;
}

const TYPES = ["queued", "running", "group", "engine", "token", "verdict"] as const;
const POLL_MS = 2000;

/**
 * `on` hears every event, `onLost` whether the connection is gone. Where streaming does not work, the result is asked
 * for instead. Returns a function that stops following.
 */
export function follow(id: number, on: Progressing, onLost: (lost: boolean) => void): () => void {
  let ended = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const source = new EventSource(at(`api/v1/submissions/${id}/events`));
  const stop = (): void => {
    ended = true;
    clearTimeout(timer);
    source.close();
  };
  const poll = async (): Promise<void> => {
    if (ended) return;
    try {
      const now = await submission(id);
      if (ended) return;
      onLost(false);
      if (now.status === "done" && now.result) {
        stop();
        on.verdict({ result: now.result, attempt: now.attempt });
        return;
      }
    } catch {
      if (ended) return;
      onLost(true);
    }
    timer = setTimeout(() => void poll(), POLL_MS);
  };
  for (const type of TYPES) {
    source.addEventListener(type, (event: MessageEvent<string>) => {
      if (type === "verdict") stop();
      on[type](JSON.parse(event.data) as never);
    });
  }
  source.addEventListener("open", () => onLost(false));
  source.addEventListener("error", () => {
    if (ended) return;
    onLost(true);
    if (source.readyState === EventSource.CLOSED) void poll();
  });
  return stop;
}
