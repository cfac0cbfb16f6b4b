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

async function make(): Promise<Runner | null> {
  if (!hasRunner()) return null;
  const { createRunner } = await import("../runner/index");
  return createRunner({ assets: at("assets/runtime/"), lang: lang() });
}
