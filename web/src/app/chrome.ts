/** What every page does: progress in the bar, links that keep what they should, the worker that serves it offline. */

import { at, site } from "./site-data";

export function chrome(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>(".langs a")) {
    link.addEventListener("click", () => {
      link.hash = location.hash; // the language changes, the place in the page does not
    });
  }
  const menu = document.querySelector<HTMLDetailsElement>(".more");
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu?.open) return;
    menu.open = false;
    menu.querySelector("summary")?.focus();
  });
  document.addEventListener("click", (event) => {
    if (menu?.open && !menu.contains(event.target as Node)) menu.open = false;
  });
  if (site.worker && "serviceWorker" in navigator) void keep(navigator.serviceWorker);
}

/** Let the site be kept for later without a network. The first page has to ask; the next ones pass by the worker. */
async function keep(workers: ServiceWorkerContainer): Promise<void> {
  const first = workers.controller === null;
  try {
    await workers.register(at("sw.js"));
  } catch {
    return; // without it the site needs the network, no more
  }
  if (first) (await workers.ready).active?.postMessage("keep");
}
