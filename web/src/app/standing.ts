/** What the page shows of the learner's progress: the count in the bar, and every slot. */

import { exercises, type JudgeSays } from "./judge/client";
import { icon } from "./dom";
import { site } from "./site-data";
import type { Store } from "./store/database";
import { note, onProgress, type Standing, standings } from "./store/progress";
import type { Progress } from "./store/tables";
import { t } from "./words";

export type Standings = Map<number, Progress>;

export const stateOf = (known: Standings, exercise: number): Standing => known.get(exercise)?.state ?? "untouched";

/** The first exercise that is not accepted; null when all are. */
export const nextOf = (known: Standings, ids: readonly number[]): number | null =>
  ids.find((id) => stateOf(known, id) !== "accepted") ?? null;

/** Draw what is known, and again whenever more is. `changed` is told each time. */
export async function showStanding(store: Store, changed: (known: Standings) => void): Promise<() => Promise<void>> {
  const draw = async (): Promise<void> => {
    const known = await standings(store);
    drawCount(known);
    drawSlots(known);
    changed(known);
  };
  onProgress(() => void draw());
  await draw();
  void fromJudge(store).then((says) => {
    if (says) void draw();
  });
  return draw;
}

/** What the judge knows, for instance from another browser, is noted here too. */
async function fromJudge(store: Store): Promise<JudgeSays | null> {
  try {
    const says = await exercises();
    for (const one of says.exercises) await note(store, one.id, one.state);
    const weak = document.getElementById("weak");
    if (weak) weak.hidden = !says.judge?.isolation?.startsWith("weak");
    return says;
  } catch {
    return null; // no judge here, or none at the moment: the page works without
  }
}

function drawCount(known: Standings): void {
  const passed = site.exercises.filter((id) => stateOf(known, id) === "accepted").length;
  const number = document.getElementById("passed");
  if (number) number.textContent = String(passed);
  const share = site.exercises.length ? (100 * passed) / site.exercises.length : 0;
  document.querySelector(".count-bar rect")?.setAttribute("width", `${share.toFixed(1)}%`);
}

function drawSlots(known: Standings): void {
  const next = nextOf(known, site.exercises);
  for (const slot of document.querySelectorAll<HTMLElement>("[data-slot]")) {
    const id = Number(slot.dataset.slot);
    const state = stateOf(known, id);
    const isNext = id === next && !slot.hasAttribute("aria-current");
    slot.className = `slot ${state}${isNext ? " next" : ""}`;
    slot.querySelector(".i")?.remove();
    if (state !== "untouched") slot.querySelector(".num")?.after(icon(state === "accepted" ? "check" : "half"));
    const words = slot.querySelector(".vh");
    if (words) words.textContent = t(isNext ? "state_next" : `state_${state}`);
  }
}
