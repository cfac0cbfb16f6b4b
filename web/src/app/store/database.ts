/** The tables in IndexedDB, or in memory where the browser keeps nothing. */

import { type IDBPDatabase, openDB } from "idb";
import { TABLES, type Table, type Tables } from "./tables";

export interface Store {
  /** Whether it outlives the page. */
  readonly lasting: boolean;
  get<T extends Table>(table: T, key: string): Promise<Tables[T] | undefined>;
  all<T extends Table>(table: T): Promise<Tables[T][]>;
  put<T extends Table>(table: T, value: Tables[T]): Promise<void>;
  remove(table: Table, key: string): Promise<void>;
  /** Read and write in one transaction; `change` returns what is to stand there, or undefined to leave it. */
  change<T extends Table>(
    table: T,
    key: string,
    change: (old: Tables[T] | undefined) => Tables[T] | undefined,
  ): Promise<void>;
}

export const NAME = "minisgl";
const VERSION = 1;

let opened: Promise<Store> | null = null;

/** The store of this page; opened once. */
export function openStore(): Promise<Store> {
  opened ??= open().catch(() => new MemoryStore());
  return opened;
}

async function open(): Promise<Store> {
  if (typeof indexedDB === "undefined") return new MemoryStore();
  const database = await openDB(NAME, VERSION, {
    upgrade(fresh) {
      for (const table of TABLES) {
        if (!fresh.objectStoreNames.contains(table)) fresh.createObjectStore(table, { keyPath: "key" });
      }
    },
    blocking(_now, _wanted, event) {
      (event.target as IDBDatabase).close(); // a newer page of the site wants to upgrade
      opened = null;
    },
  });
  return new DatabaseStore(database);
}

class DatabaseStore implements Store {
  readonly lasting = true;
  constructor(private readonly database: IDBPDatabase) {}

  async get<T extends Table>(table: T, key: string): Promise<Tables[T] | undefined> {
    return (await this.database.get(table, key)) as Tables[T] | undefined;
  }

  async all<T extends Table>(table: T): Promise<Tables[T][]> {
    return (await this.database.getAll(table)) as Tables[T][];
  }

  async put<T extends Table>(table: T, value: Tables[T]): Promise<void> {
    await this.database.put(table, value);
  }

  async remove(table: Table, key: string): Promise<void> {
    await this.database.delete(table, key);
  }

  async change<T extends Table>(
    table: T,
    key: string,
    change: (old: Tables[T] | undefined) => Tables[T] | undefined,
  ): Promise<void> {
    const transaction = this.database.transaction(table, "readwrite");
    const fresh = change((await transaction.store.get(key)) as Tables[T] | undefined);
    if (fresh !== undefined) await transaction.store.put(fresh);
    await transaction.done;
  }
}

export class MemoryStore implements Store {
  readonly lasting = false;
  private readonly tables = new Map<Table, Map<string, unknown>>(TABLES.map((name) => [name, new Map()]));

  private of(table: Table): Map<string, unknown> {
    const found = this.tables.get(table);
    if (!found) throw new Error(`no table ${table}`);
    return found;
  }

  async get<T extends Table>(table: T, key: string): Promise<Tables[T] | undefined> {
    return this.of(table).get(key) as Tables[T] | undefined;
  }

  async all<T extends Table>(table: T): Promise<Tables[T][]> {
    return [...this.of(table).values()] as Tables[T][];
  }

  async put<T extends Table>(table: T, value: Tables[T]): Promise<void> {
    this.of(table).set(value.key, value);
  }

  async remove(table: Table, key: string): Promise<void> {
    this.of(table).delete(key);
  }

  async change<T extends Table>(
    table: T,
    key: string,
    change: (old: Tables[T] | undefined) => Tables[T] | undefined,
  ): Promise<void> {
    const fresh = change((await this.get(table, key)) as Tables[T] | undefined);
    if (fresh !== undefined) await this.put(table, fresh);
  }
}
