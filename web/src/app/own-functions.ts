/** The learner's accepted functions, all of them in the engine of this page. */

import type { GenerateRequest } from "../runner/types";
import { submission, submissions } from "./judge/client";
import type { LastRun, Progress } from "./store/tables";
import type { ExerciseData } from "./types";
import { lang, t } from "./words";

interface Entry {
  id: number;
  place: string;
}

/** What goes into the engine: each accepted function, its code kept here or at the judge. What is out of reach stays out. */
export async function ownFunctions(
  entries: readonly Entry[],
  known: ReadonlyMap<number, Progress>,
  load: (id: number) => Promise<ExerciseData | undefined>,
  fromJudge: (id: number) => Promise<string | undefined>,
): Promise<(NonNullable<GenerateRequest["functions"]>[number] & { exercise: ExerciseData })[]> {
  const found = await Promise.all(
    entries.map(async ({ id, place }) => {
      const mine = known.get(id);
      if (place === "none" || mine?.state !== "accepted") return null;
      const exercise = await load(id).catch(() => undefined);
      if (exercise?.browser !== "all") return null;
      const code = mine.code || (await fromJudge(id).catch(() => undefined));
      return code ? { exercise, code } : null;
    }),
  );
  return found.filter((one) => one !== null);
}

/** The newest accepted code that the judge has, for a browser that has none of it. */
export async function acceptedCode(exercise: number): Promise<string | undefined> {
  let before: number | undefined;
  do {
    const page = await submissions(exercise, before);
    const accepted = page.submissions.find(({ verdict }) => verdict === "AC");
    if (accepted) return (await submission(accepted.id)).code;
    before = page.next ?? undefined;
  } while (before !== undefined);
  return undefined;
}

/** How fast it was, and whose functions were in it. Runs of earlier days did not note that. */
export function runFacts({ tokensPerSecond, names }: Pick<LastRun, "tokensPerSecond" | "names">): string {
  const speed = t("run_speed", { speed: tokensPerSecond.toFixed(0) });
  if (!Array.isArray(names)) return speed;
  const list = names.map((name) => `\`${name}\``).join(lang() === "zh" ? "、" : ", ");
  return `${speed} · ${names.length ? t("run_mine", { n: names.length, names: list }) : t("run_reference")}`;
}
