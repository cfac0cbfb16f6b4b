/** The sections of the page: which one is being read, which have been, and how long the rest takes. */

import { memory, word } from "./words.js";

const headings = [...document.querySelectorAll<HTMLElement>("article h2[id]")];
const KEY = `read:${location.pathname.split("/").slice(-2).join("/")}`;

/** The id of the section at the upper third of the window; null above the first. */
export function currentSection(): string | null {
  const passed = headings.filter((heading) => heading.getBoundingClientRect().top < innerHeight / 3);
  return passed.at(-1)?.id ?? null;
}

export function rail(): void {
  const links = new Map<string, HTMLAnchorElement>();
  for (const link of document.querySelectorAll<HTMLAnchorElement>(".rail a")) links.set(link.hash.slice(1), link);
  if (!links.size) return;
  const read = new Set((memory.get(KEY) ?? "").split(" ").filter((id) => links.has(id)));
  const told = document.querySelector<HTMLElement>(".rail-n");
  let shown: string | null = null;

  const tell = (): void => {
    for (const [id, link] of links) link.parentElement?.classList.toggle("read", read.has(id));
    const minutes = Number(told?.dataset["minutes"] ?? 0);
    if (!told || !read.size || !minutes) return;
    const left = Math.round((minutes * (1 - read.size / links.size)) / 5) * 5;
    told.hidden = false;
    told.textContent = word("read_count", { n: read.size, all: links.size });
    if (left) told.append(document.createElement("br"), word("read_left", { n: left }));
  };
  const follow = (): void => {
    const now = currentSection();
    if (now === shown) return;
    // A section counts as read when the next one begins.
    if (shown && now && headings.findIndex((h) => h.id === now) === headings.findIndex((h) => h.id === shown) + 1) {
      read.add(shown);
      memory.set(KEY, [...read].join(" "));
      tell();
    }
    shown = now;
    for (const [id, link] of links) {
      if (id === now) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", follow, { passive: true });
  follow();
  tell();
}
