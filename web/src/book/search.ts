/** The search dialog over Pagefind's index, which is fetched when the dialog opens for the first time. */

import { word } from "./words.js";

interface Part {
  title: string;
  url: string;
  excerpt: string;
}
interface Found extends Part {
  meta: { title?: string };
  sub_results: Part[];
}
interface Pagefind {
  options(settings: Record<string, unknown>): Promise<void>;
  init(): Promise<void>;
  search(query: string): Promise<{ results: { data(): Promise<Found> }[] }>;
}

const PAGES = 8;
const HITS = 24;
const WAIT_MS = 120;

const dialog = document.querySelector<HTMLDialogElement>("dialog.search")!;
const input = dialog.querySelector("input")!;
const said = dialog.querySelector<HTMLElement>(".s-said")!;
const list = dialog.querySelector<HTMLElement>(".s-list")!;
let engine: Promise<Pagefind> | null = null;
let asked = 0;
let waiting = 0;

function load(): Promise<Pagefind> {
  engine ??= (async () => {
    const address = new URL("../../pagefind/pagefind.js", import.meta.url);
    const pagefind = (await import(address.href)) as Pagefind;
    await pagefind.options({ excerptLength: 24, baseUrl: new URL("../../", import.meta.url).pathname });
    await pagefind.init();
    return pagefind;
  })();
  engine.catch(() => (engine = null)); // the next try fetches anew
  return engine;
}

/** The dialog is open; what was typed before this module was there counts, too. */
export function begin(): void {
  load().then(
    () => void search(),
    () => (said.textContent = word("search_failed")),
  );
}

async function search(): Promise<void> {
  const query = input.value.trim();
  const number = ++asked;
  if (!query) {
    list.replaceChildren();
    said.textContent = "";
    return;
  }
  said.textContent = word("search_asking");
  try {
    const pagefind = await load();
    const { results } = await pagefind.search(query);
    const pages = await Promise.all(results.slice(0, PAGES).map((result) => result.data()));
    if (number === asked) show(query, pages);
  } catch {
    if (number === asked) said.textContent = word("search_failed");
  }
}

/** Places that have the words as they were typed come first. */
function show(query: string, pages: Found[]): void {
  const wanted = bare(query);
  const hits = pages.flatMap((page) => (page.sub_results.length ? page.sub_results : [page]).map((part) => ({ page, part })));
  const exact = hits.filter(({ part }) => bare(part.title + strip(part.excerpt)).includes(wanted));
  const ordered = [...exact, ...hits.filter((hit) => !exact.includes(hit))].slice(0, HITS);
  list.replaceChildren(...ordered.map(({ page, part }) => row(page.meta.title ?? page.title, part)));
  said.textContent = ordered.length ? word("search_found", { n: ordered.length }) : word("search_none");
}

function row(title: string, part: Part): HTMLElement {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = part.url;
  const head = document.createElement("b");
  head.textContent = part.title || title;
  const where = document.createElement("span");
  where.className = "small";
  where.textContent = part.title === title ? "" : title;
  const text = document.createElement("span");
  text.className = "s-text";
  text.append(...marked(part.excerpt));
  link.append(head, where, text);
  item.append(link);
  return item;
}

/** Pagefind's excerpt, HTML with nothing but <mark> in it, as nodes. */
function marked(excerpt: string): (string | HTMLElement)[] {
  return excerpt.split(/(<mark>.*?<\/mark>)/s).map((piece) => {
    if (!piece.startsWith("<mark>")) return decode(piece);
    const mark = document.createElement("mark");
    mark.textContent = decode(strip(piece));
    return mark;
  });
}

const strip = (html: string): string => html.replace(/<\/?mark>/g, "");
const bare = (text: string): string => decode(text).replace(/\s+/g, "").toLowerCase();

function decode(text: string): string {
  const named: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'", "#x27": "'" };
  return text.replace(/&(lt|gt|amp|quot|#39|#x27);/g, (whole, name: string) => named[name] ?? whole);
}

input.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => void search(), WAIT_MS);
});
dialog.querySelector("form")!.addEventListener("submit", (event) => {
  event.preventDefault();
  list.querySelector<HTMLElement>("a")?.click();
});
dialog.addEventListener("click", (event) => {
  const target = event.target as Element;
  // A hit on this very page only moves to it, so the dialog has to go by itself.
  if (target === dialog || target.closest("[data-close], .s-list a")) dialog.close();
});
dialog.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    event.preventDefault(); // a search field would only be emptied by the first one
    dialog.close();
    return;
  }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const links = [...list.querySelectorAll<HTMLElement>("a")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const next = event.key === "ArrowDown" ? at + 1 : at - 1;
  event.preventDefault();
  if (next < 0) input.focus();
  else links[Math.min(next, links.length - 1)]?.focus();
});
