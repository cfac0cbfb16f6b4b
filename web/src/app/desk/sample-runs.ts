/** Running the samples: in the tab where Python is there, else at the judge. */

import type { Runner } from "../../runner/types";
import { newKey, send, Unreachable } from "../judge/client";
import { follow } from "../judge/follow";
import type { ExerciseData, SubmissionBrief } from "../types";
import { t } from "../words";
import type { DeskParts } from "./layout";
import type { Notice } from "./notice";
import { Samples } from "./samples";
import type { Writing } from "./writing";

/** A run that takes longer offers to be stopped. */
const PATIENCE_MS = 500;

export class SampleRuns {
  private stop: () => void = () => {};
  private atHand: string | null = null;

  constructor(
    private readonly exercise: ExerciseData,
    private readonly box: Samples,
    private readonly notice: Notice,
    private readonly writing: Writing,
    private readonly parts: DeskParts,
  ) {}

  /**
   * Run the samples on `code`; once more on what is being run already does nothing. `here` gives Python in the tab,
   * null where there is none.
   */
  async run(code: string, here: () => Promise<Runner | null>): Promise<void> {
    if (code === this.atHand) return;
    this.atHand = code;
    this.writing.flush();
    const python = await here();
    if (python && python.state.phase !== "failed" && (await this.inTab(python, code))) return;
    await this.atJudge(code);
  }

  /** False where Python could not be started, so that the judge has to run them. */
  private async inTab(python: Runner, code: string): Promise<boolean> {
    const stop = python.listen({
      onState: (state) => {
        if (state.phase === "loading") this.box.loading(state);
        else if (state.phase === "busy") this.box.running();
      },
      onSample: (result) => this.box.add(result),
    });
    this.box.running();
    const away = this.offerStop(python);
    try {
      const report = await python.samples(this.exercise, code);
      const end = this.box.fromTab(report);
      this.ended(end, code);
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === "RunnerBusy") {
        this.notice.say("fault", t("runner_busy"), "wait");
        this.box.idle();
        return true;
      }
      return false;
    } finally {
      stop();
      away();
      this.atHand = null;
    }
  }

  /** Returns what takes the offer away. */
  private offerStop(python: Runner): () => void {
    const { run, stop } = this.parts;
    const timer = setTimeout(() => {
      stop.hidden = false;
    }, PATIENCE_MS);
    const click = (): void => python.stop();
    stop.addEventListener("click", click);
    return () => {
      clearTimeout(timer);
      stop.removeEventListener("click", click);
      if (document.activeElement === stop) run.focus();
      stop.hidden = true;
    };
  }

  private async atJudge(code: string): Promise<void> {
    this.stop();
    this.atHand = code;
    this.box.running();
    let made: SubmissionBrief;
    try {
      made = await send(this.exercise.id, code, newKey(), true);
    } catch (error) {
      this.atHand = null;
      this.box.idle();
      if (error instanceof Unreachable) this.notice.say("fault", t("unreachable_samples"));
      else this.notice.refused(error);
      return;
    }
    const ignore = (): void => {};
    this.stop = follow(
      made.id,
      {
        queued: ignore,
        running: ignore,
        group: ignore,
        engine: ignore,
        token: ignore,
        verdict: ({ result }) => {
          this.atHand = null;
          this.ended(this.box.fromJudge(result, true), code);
        },
      },
      ignore,
    );
  }

  private ended(end: ReturnType<Samples["fromTab"]>, code: string): void {
    const { look: kind, text } = Samples.words(end);
    this.notice.say(kind, text);
    if (this.writing.code === code) this.writing.mark({ broke: end.broke });
  }
}
