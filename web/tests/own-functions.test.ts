import { expect, test } from "vitest";
import { ownFunctions, runFacts } from "../src/app/own-functions";
import type { Progress } from "../src/app/store/tables";
import type { ExerciseData } from "../src/app/types";
import { useWords } from "../src/app/words";

const entry = (id: number, place = "engine") => ({ id, place });
const mine = (exercise: number, state: Progress["state"], code?: string): [number, Progress] => [
  exercise,
  { key: String(exercise), exercise, state, at: 1, ...(code === undefined ? {} : { code }) } as Progress,
];

test("every accepted function that can run in the tab goes into the engine", async () => {
  const entries = [entry(176, "none"), entry(180), entry(192), entry(193), entry(196, "adapter"), entry(197), entry(204)];
  const known = new Map([mine(176, "accepted", "a"), mine(180, "accepted", "b"), mine(192, "tried", "c"), mine(193, "accepted"), mine(196, "accepted", "d"), mine(197, "accepted", "e"), mine(204, "accepted", "f")]);
  const load = async (id: number): Promise<ExerciseData | undefined> => {
    if (id === 197) throw new Error("no network");
    return { id, browser: id === 204 ? "server" : "all" } as ExerciseData;
  };
  const nowhere = async (): Promise<string | undefined> => {
    throw new Error("no judge");
  };
  const found = await ownFunctions(entries, known, load, nowhere);
  expect(found.map(({ exercise, code }) => [exercise.id, code])).toEqual([[180, "b"], [196, "d"]]);
  const more = await ownFunctions(entries, known, load, async (id) => `judge's ${id}`);
  expect(more.map(({ code }) => code)).toEqual(["b", "judge's 193", "d"]);
});

test("the run says whose functions were in it, and that it is not graded", () => {
  useWords("en", { run_speed: "{speed} token/s", run_mine: "with {n} functions of yours: {names}. Not graded.", run_reference: "the reference" });
  expect(runFacts({ tokensPerSecond: 41.4, names: ["a", "b"] })).toBe("41 token/s · with 2 functions of yours: `a`, `b`. Not graded.");
  expect(runFacts({ tokensPerSecond: 41.4, names: ["a"] })).toBe("41 token/s · with 1 function of yours: `a`. Not graded.");
  expect(runFacts({ tokensPerSecond: 41.4, names: [] })).toBe("41 token/s · the reference");
  expect(runFacts({ tokensPerSecond: 41.4 })).toBe("41 token/s");
});
