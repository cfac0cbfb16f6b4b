/** The cache of the service worker, and what it knows of the site's files. */

/** `precache.json`: the version, and by group the path below the site's folder and the hash of each file. */
interface Precache {
  version: string;
  groups: Record<string, Record<string, string>>;
}

const CACHE = "minisgl-site";
/** Of the six connections that a browser opens to a host over HTTP/1.1: the page needs the others. */
const AT_ONCE = 2;
/** The record of what is stored, kept among the files under a name that no file has. */
const RECORD = "precache.json?stored";

interface Stored {
  version: string;
  /** Hashes of what is in the cache from the list, by path. */
  files: Record<string, string>;
  /** Paths of the version before, which pages that are still open may ask for. */
  before: string[];
}

export class Store {
  private refreshing: Promise<void> = Promise.resolve();
  private readonly done = new Set<string>();

  constructor(private readonly scope: URL) {}

  async find(address: string): Promise<Response | undefined> {
    return (await this.cache()).match(this.key(address));
  }

  /** Keep an answer, if it is a whole one that may be kept. A full disk is no reason to fail. */
  async keep(address: string, response: Response): Promise<void> {
    if (response.status !== 200 || response.type !== "basic") return;
    if (/no-store|private/.test(response.headers.get("cache-control") ?? "")) return;
    const copy = response.clone();
    await (await this.cache()).put(this.key(address), copy).catch(() => {});
  }

  /** Fetch what is new or has changed for a language; once for each version of the site. */
  refresh(language: string | null): Promise<void> {
    this.refreshing = this.refreshing.then(() => this.bringUpToDate(language)).catch(() => {});
    return this.refreshing;
  }

  private async bringUpToDate(language: string | null): Promise<void> {
    const response = await fetch(new URL("precache.json", this.scope), { cache: "no-cache" });
    if (!response.ok) return;
    const { version, groups } = (await response.json()) as Precache;
    if (this.done.has(`${version} ${language}`)) return;
    const stored = await this.stored();
    const all: Record<string, string> = Object.assign({}, ...Object.values(groups));
    if (stored.version !== version) {
      await this.forget(stored, all);
      stored.version = version;
    }
    const wanted = { ...groups["common"], ...(language === null ? {} : groups[language]) };
    const pages = await this.fetchAll(wanted, stored);
    const runtime = savesData() || (await this.fetchAll(groups["runtime"] ?? {}, stored));
    if (pages && runtime) this.done.add(`${version} ${language}`);
  }

  /** Whether all are stored now. What fails is tried again with the next page; the others do not wait for it. */
  private async fetchAll(wanted: Record<string, string>, stored: Stored): Promise<boolean> {
    const waiting = Object.entries(wanted).filter(([path, hash]) => stored.files[path] !== hash);
    if (waiting.length === 0) return true;
    let failed = 0;
    const cache = await this.cache();
    const next = async (): Promise<void> => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
        const [path, hash] = one;
        const address = new URL(path, this.scope).href;
        try {
          const response = await fetch(address, { cache: "no-cache" });
          if (!response.ok || response.redirected) throw new Error(`${response.status}`);
          await cache.put(this.key(address), response);
          stored.files[path] = hash;
        } catch {
          failed += 1;
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
    await this.record(stored);
    return failed === 0;
  }

  /** Drop what neither this version of the site has nor the one before. */
  private async forget(stored: Stored, all: Record<string, string>): Promise<void> {
    const cache = await this.cache();
    for (const path of stored.before) {
      if (path in all || path in stored.files) continue;
      await cache.delete(this.key(new URL(path, this.scope).href));
    }
    stored.before = Object.keys(stored.files).filter((path) => !(path in all));
    for (const path of stored.before) delete stored.files[path];
    await this.record(stored);
  }

  private async stored(): Promise<Stored> {
    const found = await (await this.cache()).match(new URL(RECORD, this.scope).href);
    if (found === undefined) return { version: "", files: {}, before: [] };
    return (await found.json()) as Stored;
  }

  private async record(stored: Stored): Promise<void> {
    const address = new URL(RECORD, this.scope).href;
    await (await this.cache()).put(address, new Response(JSON.stringify(stored)));
  }

  /** One key for a page, by whatever address it is asked for: with or without `index.html`, query and fragment. */
  private key(address: string): string {
    const url = new URL(address);
    url.search = url.hash = "";
    url.pathname = url.pathname.replace(/\/index\.html$/, "/");
    if (!/\.[a-z0-9]+$/i.test(url.pathname) && !url.pathname.endsWith("/")) url.pathname += "/";
    return url.href;
  }

  private cache(): Promise<Cache> {
    return caches.open(CACHE);
  }
}

function savesData(): boolean {
  return (navigator as { connection?: { saveData?: boolean } }).connection?.saveData === true;
}
