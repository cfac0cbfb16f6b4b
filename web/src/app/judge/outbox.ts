/**
 * Submissions on their way to the judge. Each is kept on the device until the judge has it, so that neither a
 * reload nor a day without network loses it; its key makes one submission of however many attempts.
 */

import type { Store } from "../store/database";
import type { Pending } from "../store/tables";
import type { SubmissionBrief } from "../types";
import { newKey, NoJudge, send, Unreachable } from "./client";

const RETRY_MS = 3000;

export type Waiting = "unreachable" | "none";

export class Outbox {
  private giveUp: (() => void) | null = null;

  constructor(
    private readonly store: Store,
    private readonly exercise: number,
    private readonly onWaiting: (why: Waiting, cancel: () => void) => void,
  ) {}

  /** What was left by an earlier page, newest last. */
  async left(): Promise<Pending | null> {
    const own = (await this.store.all("outbox")).filter((one) => one.exercise === this.exercise);
    own.sort((a, b) => a.at - b.at);
    return own.at(-1) ?? null;
  }

  /** Submit `code`; null when it was given up, for other code or by the learner. Refusals are thrown. */
  async submit(code: string): Promise<SubmissionBrief | null> {
    this.giveUp?.();
    for (const old of await this.store.all("outbox")) {
      if (old.exercise === this.exercise) await this.store.remove("outbox", old.key);
    }
    const pending: Pending = { key: newKey(), exercise: this.exercise, code, at: Date.now() };
    await this.store.put("outbox", pending).catch(() => {});
    return this.deliver(pending);
  }

  /** One window at a time delivers; another that waits for it finds the entry gone, and the judge knows the key. */
  async deliver(pending: Pending): Promise<SubmissionBrief | null> {
    const work = (): Promise<SubmissionBrief | null> => this.attempt(pending);
    if (!("locks" in navigator)) return work();
    return (await navigator.locks.request(`minisgl:outbox:${pending.key}`, work)) as SubmissionBrief | null;
  }

  private async attempt(pending: Pending): Promise<SubmissionBrief | null> {
    let stopped = false;
    let wake = (): void => {};
    const stop = (): void => {
      stopped = true;
      wake();
    };
    this.giveUp = stop;
    const cancel = (): void => {
      void this.store.remove("outbox", pending.key);
      stop();
    };
    for (;;) {
      try {
        const made = await send(pending.exercise, pending.code, pending.key);
        await this.store.remove("outbox", pending.key);
        return made;
      } catch (error) {
        if (!(error instanceof Unreachable || error instanceof NoJudge)) {
          await this.store.remove("outbox", pending.key);
          throw error;
        }
        if (stopped) return null;
        this.onWaiting(error instanceof NoJudge ? "none" : "unreachable", cancel);
        if (error instanceof NoJudge) return null; // it stays in the outbox; the next visit tries again
      }
      await new Promise<void>((resume) => {
        const timer = setTimeout(done, RETRY_MS);
        function done(): void {
          clearTimeout(timer);
          removeEventListener("online", done);
          resume();
        }
        addEventListener("online", done);
        wake = done;
      });
      if (stopped) return null;
    }
  }
}
