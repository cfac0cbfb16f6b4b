/** The page of one exercise. */

import { chrome } from "./chrome";
import { Desk } from "./desk/desk";
import { OwnRun } from "./desk/run";
import { byId } from "./dom";
import { submission } from "./judge/client";
import { showStanding } from "./standing";
import { openStore } from "./store/database";
import type { ExerciseData } from "./types";
import { data } from "./words";

async function start(exercise: ExerciseData): Promise<void> {
  chrome();
  const store = await openStore();
  let redraw = async (): Promise<void> => {};
  let shownRun = 0;
  const desk = new Desk({
    exercise,
    store,
    tries: byId("tries"),
    onProgress: () => void redraw(),
    onJudged: (id, result) => {
      if (!result.engine || shownRun === id) return;
      shownRun = id;
      void submission(id, true)
        .then((one) => run.showJudged(one.result?.trace ?? []))
        .catch(() => {});
    },
  });
  const { parts } = desk;
  const run = new OwnRun(byId("run"), exercise, () => desk.code, (lines) => desk.markRan(lines));
  document.addEventListener("keydown", (event) => desk.onKey(event));
  void showStanding(store, () => {}).then((draw) => {
    redraw = draw;
  });
  await desk.start(() => byId("desk").replaceChildren(parts.editor, parts.samples, parts.verdict));
  desk.warmWhenIdle();
}

const exercise = data<ExerciseData>("exercise-data");
if (exercise) void start(exercise);
