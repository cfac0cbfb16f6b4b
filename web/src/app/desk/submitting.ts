/** A submission's way: sent, also later when there is no judge now, followed to its verdict, and shown. */

import { h, icon, plainCode, rich } from "../dom";
import { solution, submission } from "../judge/client";
import { follow } from "../judge/follow";
import { Outbox } from "../judge/outbox";
import { at } from "../site-data";
import type { Store } from "../store/database";
import { keepTry, noteVerdict } from "../store/progress";
import type { ExerciseData, Result, SubmissionBrief } from "../types";
import { t } from "../words";
import type { Hints } from "./hints";
import type { DeskParts } from "./layout";
import type { Notice } from "./notice";
import { diffView } from "./panel";
import type { Samples } from "./samples";
import { Live } from "./stream";
import { Tries } from "./tries";
import { type Judging, VerdictBox } from "./verdict";
import type { Writing } from "./writing";

/** The parts of the desk that a submission needs. */
export interface Around {
  exercise: ExerciseData;
  store: Store;
  /** Begins every id. */
  prefix: string;
  parts: DeskParts;
  notice: Notice;
  writing: Writing;
  samples: Samples;
  hints: Hints;
  tries: Tries;
  onProgress(): void;
  onJudged?(id: number, result: Result): void;
}

export class Submitting {
  private readonly verdict: VerdictBox;
  private readonly outbox: Outbox;
  private stopFollowing: () => void = () => {};
  private atHand: string | null = null; // the code that is being sent or judged

  constructor(private readonly around: Around) {
    const { exercise, store, prefix, parts } = around;
    this.verdict = new VerdictBox(parts.verdict, exercise, prefix);
    this.outbox = new Outbox(store, exercise.id, (why, cancel) => this.waiting(why, cancel));
  }

  /** Show how the exercise stands: what an earlier page could not hand in, else the newest submission. */
  async start(): Promise<void> {
    this.verdict.draft();
    await this.around.hints.load();
    const left = await this.outbox.left();
    const newest = await this.around.tries.refresh();
    if (left) {
      this.atHand = left.code;
      await this.deliver(left.code, () => this.outbox.deliver(left));
    } else if (newest) await this.open(newest, false);
  }

  async submit(): Promise<void> {
    const { writing, notice } = this.around;
    const code = writing.code;
    if (!writing.ready() || code === this.atHand) return; // a second click on what is being judged is no second submission
    this.atHand = code;
    writing.flush();
    notice.say("fault", t("sending"), "wait");
    await this.deliver(code, () => this.outbox.submit(code));
  }

  /** Show a submission from the list, or follow it when it is not judged yet. `fresh`: somebody asked for it. */
  async open(brief: SubmissionBrief, fresh: boolean): Promise<void> {
    let one: Awaited<ReturnType<typeof submission>>;
    try {
      one = await submission(brief.id);
    } catch (error) {
      if (fresh) this.around.notice.refused(error);
      return;
    }
    if (one.status !== "done" || !one.result) {
      this.watch(one.id, one.code, fresh);
      return;
    }
    this.stopFollowing();
    this.atHand = null;
    await this.judged(one.id, one.attempt, one.code, one.result, one.created_at);
    if (fresh) this.verdict.focus();
  }

  private async deliver(code: string, work: () => Promise<SubmissionBrief | null>): Promise<void> {
    let made: SubmissionBrief | null;
    try {
      made = await work();
    } catch (error) {
      this.atHand = null;
      this.around.notice.refused(error);
      return;
    }
    if (made) this.watch(made.id, code, true);
    else if (this.atHand === code) this.atHand = null;
  }

  private waiting(why: "unreachable" | "none", cancel: () => void): void {
    const { exercise, notice } = this.around;
    const stop = (): void => {
      cancel();
      this.atHand = null;
      notice.clear();
    };
    const button = h("button", { class: "btn plain", type: "button", click: stop }, t("cancel"));
    if (why === "none") notice.say("fault", t("no_judge", { id: exercise.id }), "fault", button);
    else notice.say("fault", t("unreachable"), "fault", button);
  }

  /** Follow a submission to its verdict. `fresh`: it was made just now, so its verdict gets the focus. */
  private watch(id: number, code: string, fresh: boolean): void {
    const { exercise, notice, parts, tries, writing } = this.around;
    this.stopFollowing();
    this.atHand = code;
    let state: Omit<Judging, "live"> = { stage: "received" };
    let live = new Live(exercise);
    const draw = (): void => {
      this.verdict.judging({ ...state, live: live.element });
      const { group, stage } = state;
      notice.say("fault", stage === "engine" ? t("judging_engine") : group ? t("judging_group", group) : t("judging"), "wait");
    };
    draw();
    void tries.refresh();
    this.stopFollowing = follow(
      id,
      {
        queued: ({ place, again }) => {
          live = new Live(exercise);
          state = { stage: "received", place, again };
          draw();
        },
        running: () => {
          state = { stage: "unit", again: state.again };
          draw();
        },
        group: ({ number, groups }) => {
          state = { ...state, stage: "unit", group: { k: Math.min(number + 1, groups), n: groups } };
          draw();
        },
        engine: () => {
          state = { ...state, stage: "engine" };
          draw();
        },
        token: (event) => {
          const had = live.element;
          live.add(event);
          if (!had) draw();
        },
        verdict: ({ result, attempt }) => {
          this.atHand = null;
          void this.judged(id, attempt ?? 1, code, result, new Date().toISOString());
          const elsewhere = parts.host.shadowRoot?.activeElement && writing.code !== code;
          if (fresh && !elsewhere) this.verdict.focus();
          void tries.refresh();
        },
      },
      (lost) => (lost ? notice.say("fault", t("reconnecting"), "wait") : draw()),
    );
  }

  private async judged(id: number, attempt: number, code: string, result: Result, at: string): Promise<void> {
    const { exercise, store } = this.around;
    this.show(result, id, attempt, code);
    const { verdict, score } = result;
    try {
      await keepTry(store, { id, exercise: exercise.id, status: "done", attempt, created_at: at, verdict, score, code });
      await noteVerdict(store, exercise.id, verdict, code);
    } catch {
      // The browser keeps nothing; the judge still has it.
    }
    this.around.onProgress();
  }

  private show(result: Result, id: number, attempt: number, code: string): void {
    const { hints, notice, samples, writing } = this.around;
    notice.verdict(result.verdict, result.score);
    if (result.samples.length) samples.fromJudge(result, false);
    const changed = writing.code !== code;
    this.verdict.result(result, { id, attempt, changed, hints: hints.element(), acts: this.acts(result, code, changed) });
    if (!changed && result.line !== null && result.verdict !== "AC") writing.mark({ broke: [result.line] });
    this.around.onJudged?.(id, result);
  }

  private acts(result: Result, code: string, changed: boolean): HTMLElement | null {
    const buttons: HTMLElement[] = [];
    const { lang, next, place } = this.around.exercise;
    if (result.verdict === "AC") {
      if (next) {
        const words = rich(t("next", { id: next.id, name: `\`${next.name}\`` }));
        buttons.push(
          h("a", { class: "btn main", href: at(`${lang}/exercises/${next.id}/`) }, h("span", {}, words), icon("right")),
        );
      }
      const words = t(place === "engine" ? "solution" : "solution_other");
      const compare: HTMLButtonElement = h("button", { class: "btn", type: "button", "aria-expanded": "false" }, words);
      compare.addEventListener("click", () => void this.reveal(compare));
      buttons.push(compare);
    }
    const act = (words: string, click: () => void): HTMLElement => h("button", { class: "btn", type: "button", click }, words);
    if (result.verdict === "SE") buttons.push(act(t("judge_again"), () => void this.submit()));
    if (changed) buttons.push(act(t("use_code"), () => this.around.writing.replace(code)));
    return buttons.length ? h("p", { class: "acts" }, buttons) : null;
  }

  private async reveal(button: HTMLElement): Promise<void> {
    const { exercise, notice, prefix, writing } = this.around;
    const there = document.getElementById(`${prefix}solution`);
    if (there) {
      there.remove();
      button.setAttribute("aria-expanded", "false");
      return;
    }
    let code: string;
    try {
      code = (await solution(exercise.id)).code;
    } catch (error) {
      notice.refused(error);
      return;
    }
    const section = h(
      "section",
      { id: `${prefix}solution`, class: "solution" },
      h("h3", {}, t("solution_head")),
      plainCode(t("solution_head"), code),
      h("h3", {}, t("solution_diff")),
      diffView(code, writing.code),
    );
    button.closest(".acts")?.after(section);
    button.setAttribute("aria-expanded", "true");
  }
}
