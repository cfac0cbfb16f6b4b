/** The tab's Python: made when it is first needed, and null where the site has none. */

import type { Runner, RunnerState } from "../runner/types";
import { at, site } from "./site-data";
import { lang, t } from "./words";

let made: Promise<Runner | null> | null = null;

/** Whether Python can run here at all; what a page says before it has tried. */
export const hasRunner = (): boolean => site.runtime;

/** The page's runner. */
export function runner(): Promise<Runner | null> {
  made ??= make();
  return made;
}

/** Why a run did not begin, in words. */
export function whyNot(error: unknown, state: RunnerState | undefined): string {
  if (error instanceof Error && error.name === "RunnerBusy") return t("runner_busy");
  return state?.phase === "failed" ? state.message[lang()] : t("runner_failed");
}

export type Loading = Extract<RunnerState, { phase: "loading" }>;

/** Which step of getting ready, and how much of it. */
export function loadingWords({ step, loaded, total }: Loading): string {
  const percent = total > 0 ? Math.floor((100 * loaded) / total) : 0;
  return t("loading", { step: t(`loading_${step}`), percent });
}

/** What a status line says of Python: `busy` while it runs; null where there is nothing to say. */
export function stateWords(state: RunnerState, busy: string): string | null {
  if (state.phase === "loading") return loadingWords(state);
  if (state.phase === "failed") return state.message[lang()];
  return state.phase === "busy" ? busy : null;
}

async function make(): Promise<Runner | null> {
  if (!hasRunner()) return null;
  const { createRunner } = await import("../runner/index");
  return createRunner({ assets: at("assets/runtime/"), lang: lang() });
}
