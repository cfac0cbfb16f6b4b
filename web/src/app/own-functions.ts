/** The learner's accepted functions, all of them in the engine of this page. */

import type { GenerateRequest } from "../runner/types";
import type { LastRun, Progress } from "./store/tables";
import type { ExerciseData } from "./types";
import { lang, t } from "./words";

interface Entry {
  id: number;
  place: string;
}

/** What goes into the engine: each function of which the accepted code is kept. One whose data is out of reach stays out. */
export async function ownFunctions(
  entries: readonly Entry[],
  known: ReadonlyMap<number, Progress>,
  load: (id: number) => Promise<ExerciseData | undefined>,
): Promise<(NonNullable<GenerateRequest["functions"]>[number] & { exercise: ExerciseData })[]> {
  const found = await Promise.all(
    entries.map(async ({ id, place }) => {
      const mine = known.get(id);
      if (place === "none" || mine?.state !== "accepted" || !mine.code) return null;
      const exercise = await load(id).catch(() => undefined);
      return exercise?.browser === "all" ? { exercise, code: mine.code } : null;
    }),
  );
  return found.filter((one) => one !== null);
}

/** How fast it was, and whose functions were in it. Runs of earlier days did not note that. */
export function runFacts({ tokensPerSecond, names }: Pick<LastRun, "tokensPerSecond" | "names">): string {
  const speed = t("run_speed", { speed: tokensPerSecond.toFixed(0) });
  if (!Array.isArray(names)) return speed;
  const list = names.map((name) => `\`${name}\``).join(lang() === "zh" ? "、" : ", ");
  return `${speed} · ${names.length ? t("run_mine", { n: names.length, names: list }) : t("run_reference")}`;
}
