/** Code that was replaced in an editor, newest first; some fifty a draft are kept. */

import type { Store } from "./database";
import type { Kept } from "./tables";

const MOST = 50;

/** Put `code` into the history of `draft`, unless it is the newest there already. */
export async function remember(store: Store, draft: string, code: string, why: Kept["why"]): Promise<void> {
  if (code.trim() === "") return;
  const before = await history(store, draft);
  if (before[0]?.code === code) return;
  const at = Date.now();
  const kept = { key: `${draft}:${at}:${Math.random().toString(36).slice(2, 8)}`, draft, code, at, why };
  await store.put("history", kept);
  for (const old of before.slice(MOST - 1)) await store.remove("history", old.key);
}

export async function history(store: Store, draft: string): Promise<Kept[]> {
  return (await store.all("history")).filter((one) => one.draft === draft).sort((a, b) => b.at - a.at);
}
