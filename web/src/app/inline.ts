/**
 * Exercises inside a chapter. The book writes `<section class="ex-inline" data-exercise="192" data-lang="zh">` with a
 * link in it; this puts the desk in its place, once it comes near the window.
 */

import { Desk } from "./desk/desk";
import { h, icon } from "./dom";
import { at } from "./site-data";
import { standings } from "./store/progress";
import { openStore, type Store } from "./store/database";
import type { ExerciseData } from "./types";
import { type Lang, t, useWords } from "./words";

async function json<T>(path: string): Promise<T> {
  const answer = await fetch(at(path));
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return (await answer.json()) as T;
}

async function upgrade(section: HTMLElement, store: Store): Promise<void> {
  const lang: Lang = section.dataset.lang === "zh" ? "zh" : "en";
  const number = Number(section.dataset.exercise);
  const [words, both] = await Promise.all([
    json<Record<string, string>>(`assets/app/words.${lang}.json`),
    json<Record<Lang, ExerciseData>>(`assets/exercises/${number}.json`),
  ]);
  useWords(lang, words);
  const exercise = both[lang];
  const prefix = `ex${number}-`;
  const state = h("span", { class: "ex-state" });
  const redraw = async (): Promise<void> => {
    const known = (await standings(store)).get(number)?.state ?? "untouched";
    section.dataset.state = known;
    state.replaceChildren(...(known === "untouched" ? [] : [icon(known === "accepted" ? "check" : "half")]), t(`state_${known}`));
  };
  const desk = new Desk({ exercise, store, prefix, onProgress: () => void redraw() });
  const { parts } = desk;
  const page = at(`${lang}/exercises/${number}/`);
  const bar = h(
    "p",
    { class: "ex-bar small" },
    state,
    t("next_facts", { points: exercise.points, minutes: exercise.minutes }),
    h("a", { href: page }, t("open_whole")),
  );
  section.setAttribute("aria-label", `${number} ${exercise.title}`);
  section.classList.add("live");
  const told = section.querySelectorAll(":scope > header, :scope > .ie-what");
  section.addEventListener("keydown", (event) => desk.onKey(event));
  await redraw();
  await desk.start(() => section.replaceChildren(...told, bar, parts.editor, parts.samples, parts.verdict));
}

/** A section becomes a desk when it is about to be seen: a chapter is for reading first. */
async function start(): Promise<void> {
  const sections = [...document.querySelectorAll<HTMLElement>(".ex-inline[data-exercise]")];
  if (!sections.length) return;
  const store = await openStore();
  const near = new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        upgrade(target as HTMLElement, store).catch(() => {}); // what the book wrote stays, with its link
      }
    },
    { rootMargin: "600px" },
  );
  for (const section of sections) near.observe(section);
}

void start();
