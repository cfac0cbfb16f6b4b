/**
 * Python on its way, in a status line: seen in percent, heard at the beginning, at the half and at the end, since a
 * screen reader would read every percent aloud.
 */

import type { RunnerState } from "../runner/types";
import { h, say } from "./dom";
import { lang, t } from "./words";

export type Loading = Extract<RunnerState, { phase: "loading" }>;

/** Which step of getting ready, and how much of it. */
export function loadingWords({ step, loaded, total }: Loading): string {
  return t("loading", { step: t(`loading_${step}`), percent: percentOf(loaded, total) });
}

/** What is read aloud; the same words until there is something to say again. */
export function heardWords({ step, loaded, total }: Loading): string {
  const percent = percentOf(loaded, total);
  const heard = percent < 50 ? 0 : percent < 100 ? 50 : 100;
  return t(step === "model" ? "heard_model" : "heard_python", { percent: heard });
}

/** What a status line says of Python: `busy` while it runs; what is there stays where there is nothing to say. */
export function sayState(status: HTMLElement, state: RunnerState, busy: string): void {
  if (state.phase === "loading") sayLoading(status, state);
  else if (state.phase === "failed") say(status, state.message[lang()]);
  else if (state.phase === "busy") say(status, busy);
}

function sayLoading(status: HTMLElement, state: Loading): void {
  let [seen, heard] = status.querySelectorAll<HTMLElement>(":scope > .seen, :scope > .vh");
  if (!seen || !heard) {
    seen = h("span", { class: "seen", "aria-hidden": "true" });
    heard = h("span", { class: "vh" });
    status.replaceChildren(seen, heard);
  }
  seen.textContent = loadingWords(state);
  const words = heardWords(state);
  if (heard.textContent !== words) heard.textContent = words;
}

function percentOf(loaded: number, total: number): number {
  return total > 0 ? Math.floor((100 * loaded) / total) : 0;
}
