/// <reference types="vite/client" />
/** The tab's Python: made when it is first needed, and null where the site has none. */

import type { Runner } from "../runner/types";
import { at, site } from "./site-data";
import { lang } from "./words";

type Module = { createRunner(options: { assets: string; lang: "zh" | "en" }): Runner };

const modules = import.meta.glob<Module>("../runner/index.ts");
let made: Promise<Runner | null> | null = null;

/** Whether Python can run here at all; what a page says before it has tried. */
export const hasRunner = (): boolean => site.runtime && Object.keys(modules).length > 0;

/** The page's runner. */
export function runner(): Promise<Runner | null> {
  made ??= make();
  return made;
}

async function make(): Promise<Runner | null> {
  const load = Object.values(modules)[0];
  if (!hasRunner() || !load) return null;
  const { createRunner } = await load();
  return createRunner({ assets: at("assets/runtime/"), lang: lang() });
}
