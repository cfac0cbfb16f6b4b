/** Running the samples: in the tab where Python is there, else at the judge. */

import type { Runner } from "../../runner/types";
import { newKey, send, Unreachable } from "../judge/client";
import { follow } from "../judge/follow";
import { runner } from "../runner";
import type { ExerciseData, Look, SubmissionBrief } from "../types";
import { t } from "../words";
import { Samples } from "./samples";

/** The part of the desk that a run of the samples speaks to. */
export interface SamplesDesk {
  readonly runsHere: boolean;
  use(python: Runner | null): void;
  flush(): void;
  say(look: Look, text: string, picture?: string): void;
  refused(error: unknown): void;
  /** Mark lines, if `code` is still what the editor holds. */
  broke(lines: number[], code: string): void;
}

export class SampleRuns {
  private stop: () => void = () => {};
  private atHand: string | null = null;

  constructor(
    private readonly exercise: ExerciseData,
    private readonly box: Samples,
    private readonly desk: SamplesDesk,
  ) {}

  /** Run the samples on `code`; once more on what is being run already does nothing. */
  async run(code: string): Promise<void> {
    if (code === this.atHand) return;
    this.atHand = code;
    this.desk.flush();
    const python = this.desk.runsHere ? await runner().catch(() => null) : null;
    this.desk.use(python);
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
    try {
      const report = await python.samples(this.exercise, code);
      const end = this.box.fromTab(report);
      this.ended(end, code);
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === "RunnerBusy") {
        this.desk.say("fault", t("runner_busy"), "wait");
        this.box.idle();
        return true;
      }
      return false;
    } finally {
      stop();
      this.atHand = null;
    }
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
      if (error instanceof Unreachable) this.desk.say("fault", t("unreachable_samples"));
      else this.desk.refused(error);
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
    this.desk.say(kind, text);
    this.desk.broke(end.broke, code);
  }
}
