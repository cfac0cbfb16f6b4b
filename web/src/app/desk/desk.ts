/** One exercise at work: editor, samples, submission, verdict. On the exercise page and inside a chapter. */

import type { Runner } from "../../runner/types";
import { h } from "../dom";
import { hasRunner, runner } from "../runner";
import type { Store } from "../store/database";
import type { ExerciseData, Result } from "../types";
import { Hints } from "./hints";
import { type DeskParts, layout } from "./layout";
import { Notice } from "./notice";
import { SampleRuns } from "./sample-runs";
import { Samples } from "./samples";
import { Submitting } from "./submitting";
import { Tries } from "./tries";
import { Writing } from "./writing";

const IDLE_MS = 500;

export interface DeskOptions {
  exercise: ExerciseData;
  store: Store;
  /** Begins every id; empty on the exercise's own page. */
  prefix?: string;
  /** Where the submissions are listed; a chapter has no such list. */
  tries?: HTMLElement;
  /** After each change of the exercise's state. */
  onProgress(): void;
  onJudged?(id: number, result: Result): void;
}

export class Desk {
  readonly parts: DeskParts;
  private readonly exercise: ExerciseData;
  private readonly writing: Writing;
  private readonly samples: Samples;
  private readonly sampleRuns: SampleRuns;
  private readonly submitting: Submitting;
  private python: Runner | null = null;

  constructor({ exercise, store, prefix = "", tries: list, onProgress, onJudged }: DeskOptions) {
    this.exercise = exercise;
    const parts = layout(exercise, prefix);
    const notice = new Notice(parts.last, exercise);
    const samples = new Samples(parts);
    const hints = new Hints(exercise, store, prefix);
    const tries: Tries = new Tries(list ?? h("ol"), exercise, store, (one) => void this.submitting.open(one, true));
    const writing = new Writing(exercise, store, parts, notice, () => tries.lastCode());
    this.parts = parts;
    this.samples = samples;
    this.writing = writing;
    this.sampleRuns = new SampleRuns(exercise, samples, notice, writing, parts);
    this.submitting = new Submitting({
      exercise, store, prefix, parts, notice, writing, samples, hints, tries, onProgress, onJudged,
    });
  }

  get code(): string {
    return this.writing.code;
  }

  /**
   * Fill the editor with what was kept, and show how the exercise stands. `mount` puts the parts into the page: only
   * now, in one go with the editor, so that nothing moves under the reader's eyes.
   */
  async start(mount: () => void): Promise<void> {
    await this.writing.start(mount, () => this.python);
    this.samples.idle();
    this.listen();
    await this.submitting.start();
  }

  /** Lines of the learner's file that the run is at. */
  markRan(lines: number[]): void {
    this.writing.mark({ ran: lines });
  }

  /** Ctrl Enter runs the samples, Ctrl Shift Enter submits; a held key does so once. */
  onKey(event: KeyboardEvent): void {
    const asks = event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.altKey;
    if (!asks || !this.writing.started) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.repeat) return;
    if (event.shiftKey) void this.submitting.submit();
    else void this.runSamples();
  }

  private listen(): void {
    const { parts } = this;
    parts.submit.addEventListener("click", () => void this.submitting.submit());
    parts.run.addEventListener("click", () => void this.runSamples());
    parts.editor.addEventListener("keydown", (event) => this.onKey(event), { capture: true });
    parts.host.addEventListener("focusin", () => this.warm(), { once: true });
    parts.run.addEventListener("pointerenter", () => this.warm(), { once: true });
  }

  /** For who has been here before, and so has Python's files: it starts while the statement is read. */
  warmWhenIdle(): void {
    if (!navigator.serviceWorker?.controller) return;
    const idle = window.requestIdleCallback ?? ((act: () => void) => setTimeout(act, IDLE_MS)); // Safari has none
    idle(() => this.warm());
  }

  /** Python begins to load once somebody writes, so that it is there for the first run. */
  private warm(): void {
    void this.here().then((made) => made?.warm()).catch(() => {});
  }

  private async runSamples(): Promise<void> {
    if (this.writing.ready()) await this.sampleRuns.run(this.code, () => this.here().catch(() => null));
  }

  /** Python in the tab, where this exercise can run in it. */
  private async here(): Promise<Runner | null> {
    this.python = hasRunner() && this.exercise.browser !== "server" ? await runner() : null;
    return this.python;
  }
}
