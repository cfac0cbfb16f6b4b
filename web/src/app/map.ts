/** The map: the next step, the engine as it stands, the functions in it that are the learner's, what happened lately. */

import type { ExerciseSpec } from "../runner/types";
import { chrome } from "./chrome";
import { byId, day, h, icon, rich, say } from "./dom";
import { stoppedWords } from "./desk/samples";
import { sayState } from "./loading";
import { acceptedCode, ownFunctions, runFacts } from "./own-functions";
import { hasRunner, runner, whyNot } from "./runner";
import { at, site } from "./site-data";
import { nextOf, showStanding, stateOf, type Standings } from "./standing";
import { openStore, type Store } from "./store/database";
import { note } from "./store/progress";
import type { LastRun, Try } from "./store/tables";
import type { ExerciseData, Verdict } from "./types";
import { data, lang, t } from "./words";

interface MapEntry {
  id: number;
  title: string;
  name: string;
  target: string;
  chapter: number;
  read: string | null;
  points: number;
  minutes: number;
  say: string;
  place: ExerciseSpec["place"];
}

const LAST_RUN = "map:run";
const LATELY = 6;
const PROMPT = { zh: "从前，海边有一个小村子，", en: "Once upon a time, in a village by the sea," };
const MOST_TOKENS = 48;

const entries = data<MapEntry[]>("map-data") ?? [];

function drawNext(known: Standings): void {
  const id = nextOf(known, site.exercises);
  const entry = entries.find((one) => one.id === id) ?? entries[0];
  if (!entry) return;
  for (const row of document.querySelectorAll<HTMLElement>("[data-chapter]")) {
    row.classList.toggle("here", id !== null && Number(row.dataset.chapter) === entry.chapter);
  }
  if (id === null) {
    byId("next-h").textContent = t("all_done");
    for (const part of ["next-name", "next-say", "next-label", "next-facts", "next-read"]) byId(part).hidden = true;
    return;
  }
  byId("next-id").textContent = String(entry.id);
  byId("next-title").textContent = entry.title;
  byId("next-name").textContent = entry.target;
  byId("next-say").replaceChildren(...rich(entry.say));
  byId("next-facts").textContent = t("next_facts", { points: entry.points, minutes: entry.minutes });
  const open = byId<HTMLAnchorElement>("next-open");
  open.href = at(`${lang()}/exercises/${entry.id}/`);
  const words = open.querySelector("span");
  if (words) words.textContent = t(stateOf(known, entry.id) === "tried" ? "next_go_on" : "next_start");
  const read = byId<HTMLAnchorElement>("next-read");
  read.hidden = entry.read === null;
  if (entry.read !== null) {
    read.href = at(entry.read);
    const label = read.querySelector("span");
    if (label) label.textContent = t("next_read", { n: entry.chapter });
  }
}

function drawBuilt(known: Standings): void {
  const mine = entries.filter((one) => one.place !== "none" && stateOf(known, one.id) === "accepted");
  const passed = site.exercises.filter((id) => stateOf(known, id) === "accepted").length;
  byId("course-count").textContent = t("course_count", { total: site.exercises.length, passed });
  byId("built-count").replaceChildren(
    ...(mine.length ? [t("built_1"), h("mark", {}, t(mine.length === 1 ? "built_2_one" : "built_2", { n: mine.length })), t("built_3")] : [t("built_none")]),
  );
  byId("now-h").replaceChildren(...(mine.length ? [t("now_1"), h("mark", {}, t(mine.length === 1 ? "now_2_one" : "now_2", { n: mine.length }))] : [t("now_reference")]));
  const next = nextOf(known, site.exercises);
  for (const chip of document.querySelectorAll<HTMLElement>("[data-fn]")) {
    const id = Number(chip.dataset.fn);
    const accepted = stateOf(known, id) === "accepted";
    chip.className = `fn ${accepted ? "yours" : id === next ? "next" : "ref"}`;
    chip.querySelector(".i")?.remove();
    if (accepted) chip.prepend(icon("check"));
    const words = chip.querySelector(".vh");
    if (words) words.textContent = t(accepted ? "fn_yours" : id === next ? "state_next" : "fn_reference");
  }
}

/** The last submissions, a line a day and exercise. */
async function drawLately(store: Store): Promise<void> {
  const tries = (await store.all("tries")).sort((a, b) => b.at - a.at);
  const lines = lately(tries).slice(0, LATELY);
  if (!lines.length) return;
  byId("week").replaceChildren(
    ...lines.map((line) => h("li", {}, h("span", {}, line.day), h("span", {}, h("b", {}, String(line.exercise)), ` ${line.words}`))),
  );
}

export function lately(tries: readonly Try[]): { day: string; exercise: number; words: string }[] {
  const lines = new Map<string, { day: string; exercise: number; words: string }>();
  for (const one of tries) {
    const when = day(one.at);
    const key = `${when} ${one.exercise}`;
    if (lines.has(key)) continue;
    const same = tries.filter((other) => other.exercise === one.exercise && other.at <= one.at);
    lines.set(key, { day: when, exercise: one.exercise, words: t("lately", { verdict: t(`v_${one.verdict as Verdict}`), n: same.length }) });
  }
  return [...lines.values()];
}

// --- The engine in this page ----------------------------------------------------------------------------------

function showText(run: LastRun): void {
  byId("now-text").replaceChildren(
    h("span", { class: "pr" }, run.prompt),
    run.text,
    h("span", { class: "caret", "aria-hidden": "true" }),
  );
  byId("now-facts").replaceChildren(...rich(runFacts(run)));
}

async function exerciseOf(id: number): Promise<ExerciseData | undefined> {
  const answer = await fetch(at(`assets/exercises/${id}.json`));
  return ((await answer.json()) as Record<string, ExerciseData>)[lang()];
}

/** Accepted code that this browser lacks, kept from then on. */
async function codeAtJudge(store: Store, id: number): Promise<string | undefined> {
  const code = await acceptedCode(id);
  if (code) await note(store, id, "accepted", code);
  return code;
}

async function run(store: Store, known: Standings, button: HTMLButtonElement): Promise<void> {
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  const facts = byId("now-facts");
  try {
    const python = await runner();
    if (!python) return;
    const prompt = PROMPT[lang()];
    const out = h("span", {});
    byId("now-text").replaceChildren(h("span", { class: "pr" }, prompt), out);
    const stop = python.listen({
      onState: (state) => sayState(facts, state, t("run_running")),
      onToken: ({ text }) => out.append(text),
    });
    const functions = await ownFunctions(entries, known, exerciseOf, (id) => codeAtJudge(store, id));
    const report = await python.generate({ functions, prompts: [prompt], maxTokens: MOST_TOKENS }).finally(stop);
    const wrong = report.cannot?.message[lang()] ?? report.error?.message[lang()] ?? (report.stopped ? stoppedWords(report.stopped) : null);
    if (wrong) {
      say(facts, ...rich(wrong));
      return;
    }
    const names = functions.filter(({ exercise }) => report.used.includes(exercise.id)).map(({ exercise }) => exercise.name);
    const last: LastRun = { prompt, text: report.texts[0] ?? "", tokensPerSecond: report.tokensPerSecond, names, at: Date.now() };
    showText(last);
    await store.put("meta", { key: `${LAST_RUN}:${lang()}`, value: last }).catch(() => {});
  } catch (error) {
    say(facts, whyNot(error, (await runner().catch(() => null))?.state));
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

async function start(): Promise<void> {
  chrome();
  const store = await openStore();
  let known: Standings = new Map();
  await showStanding(store, (fresh) => {
    known = fresh;
    drawNext(fresh);
    drawBuilt(fresh);
  });
  await drawLately(store);
  const last = (await store.get("meta", `${LAST_RUN}:${lang()}`))?.value as LastRun | undefined;
  if (typeof last?.text === "string" && typeof last.tokensPerSecond === "number") showText(last);
  if (!hasRunner()) return;
  const button = byId<HTMLButtonElement>("now-run");
  button.hidden = false;
  button.addEventListener("click", () => void run(store, known, button));
}

void start();
