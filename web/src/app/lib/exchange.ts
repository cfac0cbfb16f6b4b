/** Progress as one file: written, checked, and merged with what is here. */

import type { Store } from "../store/database";
import { VERDICTS } from "../types";
import { addDays } from "./days";
import { recover } from "../store/draft";
import { type CardState, type Draft, type Kept, type Progress, TABLES, type Table, type Tables, type Try } from "../store/tables";

export const VERSION = 1;
const KIND = "minisgl-progress";
/** These travel. What waits to be submitted belongs to the browser that waits. */
const TRAVEL = ["drafts", "history", "tries", "progress", "cards", "meta"] as const satisfies readonly Table[];

export interface ProgressFile {
  kind: typeof KIND;
  version: number;
  at: string;
  tables: { [T in (typeof TRAVEL)[number]]: Tables[T][] };
}

/** Far more than years of submissions. */
export const MOST_MB = 50;

/** Why a file was not imported: not ours, damaged, of a newer version, or larger than any of ours. */
export class NotImported extends Error {
  override name = "NotImported";
  constructor(readonly why: "foreign" | "damaged" | "newer" | "large") {
    super(why);
  }
}

export async function exported(store: Store, at: string): Promise<string> {
  await recover(store);
  const tables = {} as Record<string, unknown>;
  for (const table of TRAVEL) tables[table] = (await store.all(table)).sort((a, b) => a.key.localeCompare(b.key));
  return `${JSON.stringify({ kind: KIND, version: VERSION, at, tables }, null, 1)}\n`;
}

/** The progress in a chosen file. Throws NotImported as readFile does; one that is too large is not read at all. */
export async function readChosen(file: Pick<Blob, "size" | "text">): Promise<ProgressFile> {
  if (file.size > MOST_MB * 2 ** 20) throw new NotImported("large");
  return readFile(await file.text());
}

/** The file in `text`. Throws NotImported; nothing has been touched then. */
export function readFile(text: string): ProgressFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new NotImported("foreign");
  }
  if (!isRecord(value) || value.kind !== KIND || typeof value.version !== "number") throw new NotImported("foreign");
  if (value.version > VERSION) throw new NotImported("newer");
  if (!isRecord(value.tables)) throw new NotImported("damaged");
  const tables = {} as Record<string, unknown>;
  for (const table of TRAVEL) {
    const rows = value.tables[table] ?? [];
    if (!Array.isArray(rows) || !rows.every((row) => CHECKS[table](row))) throw new NotImported("damaged");
    tables[table] = rows;
  }
  return { kind: KIND, version: value.version, at: String(value.at ?? ""), tables: tables as ProgressFile["tables"] };
}

/** Merge the file into `store`: a pass stays a pass, the newer draft counts and the other goes to the history. */
export async function merge(store: Store, file: ProgressFile): Promise<number> {
  await recover(store);
  let changed = 0;
  const put = async <T extends Table>(table: T, row: Tables[T], better: (old: Tables[T]) => boolean): Promise<void> => {
    await store.change(table, row.key, (old) => {
      if (old && !better(old)) return undefined;
      changed += 1;
      return row;
    });
  };
  for (const row of file.tables.progress) {
    await put("progress", row, (old) => old.state !== "accepted" && row.state === "accepted");
  }
  for (const row of file.tables.drafts) {
    const old = await store.get("drafts", row.key);
    if (old && old.code !== row.code) {
      const [lost, why] = old.at < row.at ? [old, "import" as const] : [row, "import" as const];
      await store.put("history", { key: `${row.key}:import:${lost.at}`, draft: row.key, code: lost.code, at: lost.at, why });
    }
    await put("drafts", row, (here) => here.at < row.at && here.code !== row.code);
  }
  for (const row of file.tables.cards) await put("cards", row, (old) => old.last < row.last);
  for (const row of file.tables.tries) await put("tries", row, () => false);
  for (const row of file.tables.history) await put("history", row, () => false);
  for (const row of file.tables.meta) {
    await put("meta", row, (old) => typeof old.value === "number" && typeof row.value === "number" && old.value < row.value);
  }
  return changed;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
/** A point in time that a Date can hold, in milliseconds. */
const isMoment = (value: unknown): value is number => isNumber(value) && Math.abs(value) <= 8.64e15;
/** A day of the calendar, or none. */
const isDay = (value: unknown): value is string =>
  value === "" || (isText(value) && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)) && addDays(value, 0) === value);
const isVerdict = (value: unknown): boolean => (VERDICTS as readonly unknown[]).includes(value);
const keyed = (row: unknown): row is Record<string, unknown> & { key: string } => isRecord(row) && isText(row.key);
const WHYS: readonly string[] = ["other", "over", "import", "share", "solution"] satisfies Kept["why"][];

const CHECKS: Record<(typeof TRAVEL)[number], (row: unknown) => boolean> = {
  drafts: (row): row is Draft => keyed(row) && isText(row.code) && isMoment(row.at) && isText(row.rev),
  history: (row): row is Kept => keyed(row) && isText(row.draft) && isText(row.code) && isMoment(row.at) && WHYS.includes(String(row.why)),
  tries: (row): row is Try =>
    keyed(row) && isNumber(row.exercise) && isNumber(row.id) && isMoment(row.at) && isNumber(row.score) && isText(row.code) && isVerdict(row.verdict),
  progress: (row): row is Progress =>
    keyed(row) && isNumber(row.exercise) && row.key === String(row.exercise) && isMoment(row.at) && (row.state === "tried" || row.state === "accepted") && (row.code === undefined || isText(row.code)),
  cards: (row): row is CardState =>
    keyed(row) && isDay(row.due) && isDay(row.last) && [row.interval, row.ease, row.reps, row.lapses].every((each) => isNumber(each) && each >= 0),
  meta: (row) => keyed(row) && "value" in row,
};

/** Delete everything that is kept on this device. */
export async function forget(store: Store): Promise<void> {
  for (const table of TABLES) {
    for (const row of await store.all(table)) await store.remove(table, row.key);
  }
}
