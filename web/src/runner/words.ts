/** The runner's own sentences. What Python says comes with its words; these are for when it says nothing. */
import catalogue from "virtual:words/runner";
import type { Words } from "./types";

function both(name: string, values: Record<string, string> = {}): Words {
  const filled = (text = name) => text.replace(/\{(\w+)\}/g, (_, key: string) => values[key] ?? "");
  return { zh: filled(catalogue.zh[name]), en: filled(catalogue.en[name]) };
}

export const words = {
  /** The site was built without Python for the tab, or its files are not where they should be. */
  missing: (why: string): Words => both("tab_missing", { why }),
  failed: (why: string): Words => both("tab_failed", { why }),
  /** A report that ours did not write. */
  garbled: (): Words => both("tab_garbled"),
};
