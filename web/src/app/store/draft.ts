/**
 * One draft that outlives reload, crash and other windows.
 *
 * Each change is first written to localStorage, which is done before the page can go, and then to IndexedDB, which
 * also holds the undo history. On the way back the newer of the two counts. Windows tell each other what they wrote;
 * what one of them would overwrite without having seen it goes to the history.
 */

import type { Store } from "./database";
import { remember } from "./history";
import type { Draft } from "./tables";

export interface OtherWindow {
  code: string;
  at: number;
  rev: string;
}

interface Told extends OtherWindow {
  key: string;
}

const JOURNAL = "minisgl:draft:";
const newRev = (): string => Math.random().toString(36).slice(2) + Date.now().toString(36);

export class DraftKeeper {
  private base: string | null = null;
  private last = 0; // a clock that was set back must not make the newer draft look older
  private readonly channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("minisgl:drafts");
  private writing: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly key: string,
    onOther: (other: OtherWindow) => void,
  ) {
    this.channel?.addEventListener("message", (event: MessageEvent<Told>) => {
      if (event.data.key === key) onOther(event.data);
    });
  }

  /** What was kept, or null. */
  async load(): Promise<Draft | null> {
    const kept = (await this.store.get("drafts", this.key).catch(() => undefined)) ?? null;
    const journal = this.journal();
    const newest = journal && (!kept || journal.at > kept.at) ? journal : kept;
    this.base = newest?.rev ?? null;
    this.last = newest?.at ?? 0;
    return newest;
  }

  /**
   * Keep `code`; resolves to false where the browser keeps nothing at all. What is written before this returns
   * outlives the page. `state` is asked for when there is time for it.
   */
  save(code: string, state?: () => unknown): Promise<boolean> {
    const draft: Draft = { key: this.key, code, at: Math.max(Date.now(), this.last + 1), rev: newRev() };
    this.last = draft.at;
    const base = this.base;
    this.base = draft.rev;
    const journaled = this.write(draft);
    const persisted = this.writing
      .then(() => this.persist(draft, base, state))
      .then(() => this.store.lasting)
      .catch(() => false);
    this.writing = persisted;
    this.channel?.postMessage({ ...draft } satisfies Told);
    return persisted.then((done) => done || journaled);
  }

  /** What another window wrote has been seen: the next save replaces it knowingly. */
  seen(other: OtherWindow): void {
    this.base = other.rev;
  }

  /** Resolves when all that was given to `save` is in the database. */
  settled(): Promise<unknown> {
    return this.writing;
  }

  close(): void {
    this.channel?.close();
  }

  private async persist(draft: Draft, base: string | null, state?: () => unknown): Promise<void> {
    let replaced: Draft | undefined;
    const own = state?.();
    await this.store.change("drafts", this.key, (old) => {
      if (old && old.rev !== base && old.code !== draft.code && old.at <= draft.at) replaced = old;
      return own === undefined ? draft : { ...draft, state: own };
    });
    if (replaced) await remember(this.store, this.key, replaced.code, "other");
  }

  private write(draft: Draft): boolean {
    try {
      localStorage.setItem(JOURNAL + this.key, JSON.stringify(draft));
      return true;
    } catch {
      return false;
    }
  }

  private journal(): Draft | null {
    try {
      return asDraft(parsed(localStorage.getItem(JOURNAL + this.key)), this.key);
    } catch {
      return null;
    }
  }
}

/** Bring into the database what a page that went could only write to localStorage. */
export async function recover(store: Store): Promise<void> {
  let keys: string[] = [];
  try {
    keys = Object.keys(localStorage).filter((key) => key.startsWith(JOURNAL));
  } catch {
    return; // there is no storage, so nothing was written to it
  }
  for (const name of keys) {
    const key = name.slice(JOURNAL.length);
    const journal = asDraft(parsed(localStorage.getItem(name)), key);
    if (journal) await store.change("drafts", key, (old) => (old && old.at >= journal.at ? undefined : journal));
  }
}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

/** `value` if it is a draft for `key`; whatever else stands in the storage, from whoever, is none. */
export function asDraft(value: unknown, key: string): Draft | null {
  if (typeof value !== "object" || value === null) return null;
  const { code, at, rev } = value as Partial<Draft>;
  if (typeof code !== "string" || typeof at !== "number" || !Number.isFinite(at) || typeof rev !== "string") return null;
  return { key, code, at, rev };
}
