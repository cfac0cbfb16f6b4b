/**
 * How far the exercises have come, from what the site keeps on this device: IndexedDB `minisgl`, table `progress`.
 * Read only, and only where the site has made it: the book opens no database of its own.
 */

import { word } from "./words.js";

interface Progress {
  exercise: number;
  state: "tried" | "accepted";
}

export async function standing(): Promise<void> {
  const draw = async (): Promise<void> => show(await read());
  await draw();
  if (typeof BroadcastChannel !== "undefined") {
    new BroadcastChannel("minisgl:progress").addEventListener("message", () => void draw());
  }
}

async function read(): Promise<Map<number, Progress["state"]>> {
  try {
    const known = await indexedDB.databases();
    if (!known.some((each) => each.name === "minisgl")) return new Map();
    const database = await asked(indexedDB.open("minisgl"));
    try {
      if (!database.objectStoreNames.contains("progress")) return new Map();
      const table = database.transaction("progress").objectStore("progress");
      const all = await asked<Progress[]>(table.getAll());
      return new Map(all.map((one) => [one.exercise, one.state]));
    } finally {
      database.close();
    }
  } catch {
    return new Map(); // a private window, or a browser that keeps nothing
  }
}

function asked<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function show(states: Map<number, Progress["state"]>): void {
  for (const element of document.querySelectorAll<HTMLElement>("i[data-exercise], .slot[data-exercise]")) {
    const state = states.get(Number(element.dataset["exercise"]));
    for (const each of ["tried", "accepted"]) element.classList.toggle(each, each === state);
    if (element.matches(".slot")) say(element, state);
  }
  for (const element of document.querySelectorAll<HTMLElement>(".standing[data-exercise]")) {
    say(element, states.get(Number(element.dataset["exercise"])));
  }
  for (const pips of document.querySelectorAll<HTMLElement>(".pips")) {
    const accepted = pips.querySelectorAll(".accepted").length;
    pips.setAttribute("role", "img");
    pips.setAttribute("aria-label", word("pips", { n: accepted, all: pips.childElementCount }));
  }
  const passed = [...states.values()].filter((state) => state === "accepted").length;
  const count = document.querySelector<HTMLElement>(".count");
  const all = Number(count?.dataset["all"] ?? 0);
  const number = count?.querySelector(".passed");
  if (!count || !number || !all) return;
  number.textContent = String(passed);
  count.querySelector("rect")?.setAttribute("width", `${((100 * passed) / all).toFixed(1)}%`);
}

/** The state in words, for those who do not see the colour. */
function say(element: HTMLElement, state: Progress["state"] | undefined): void {
  let told = element.querySelector(".state");
  if (!told) {
    told = document.createElement("span");
    told.className = element.matches(".slot") ? "state vh" : "state";
    element.append(told);
  }
  told.textContent = state ? word(`state_${state}`) : "";
}
