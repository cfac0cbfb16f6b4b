/** The learner's own submissions of this exercise, newest first: the judge's, or those kept here. */

import { clock, h, icon } from "../dom";
import { submissions, Unreachable, NoJudge } from "../judge/client";
import type { Store } from "../store/database";
import { keptTries } from "../store/progress";
import { counts, type ExerciseData, look, type SubmissionBrief, type Verdict } from "../types";
import { t } from "../words";
import { points } from "./verdict";

export class Tries {
  private shown: SubmissionBrief[] = [];
  private next: number | null = null;
  private fromDevice = false;

  constructor(
    private readonly list: HTMLElement,
    private readonly exercise: ExerciseData,
    private readonly store: Store,
    private readonly open: (one: SubmissionBrief) => void,
  ) {}

  /** Read the newest; resolves to the newest of them, null if there is none or the judge does not answer. */
  async refresh(): Promise<SubmissionBrief | null> {
    try {
      const page = await submissions(this.exercise.id);
      this.shown = page.submissions;
      this.next = page.next;
      this.fromDevice = false;
    } catch (error) {
      if (!(error instanceof Unreachable || error instanceof NoJudge)) {
        this.list.replaceChildren(h("li", { class: "none" }, t("tries_error")));
        return null;
      }
      this.shown = (await keptTries(this.store, this.exercise.id)).map((one) => ({
        id: one.id,
        exercise: one.exercise,
        status: "done",
        attempt: 1,
        created_at: new Date(one.at).toISOString(),
        verdict: one.verdict as Verdict,
        score: one.score,
      }));
      this.next = null;
      this.fromDevice = true;
    }
    this.draw();
    return this.fromDevice ? null : (this.shown[0] ?? null);
  }

  /** Code of the newest submission that is judged and is not `code` itself; null where there is none. */
  async lastCode(): Promise<string | null> {
    return (await keptTries(this.store, this.exercise.id))[0]?.code ?? null;
  }

  private draw(): void {
    const rows = this.shown.map((one) => h("li", {}, this.entry(one)));
    if (!rows.length) rows.push(h("li", { class: "none" }, t("none_yet")));
    if (this.fromDevice && this.shown.length) rows.push(h("li", { class: "none small" }, t("tries_device")));
    if (this.next) rows.push(h("li", {}, h("button", { type: "button", click: () => this.older() }, t("older"))));
    this.list.replaceChildren(...rows);
  }

  private async older(): Promise<void> {
    try {
      const page = await submissions(this.exercise.id, this.next ?? undefined);
      this.shown = this.shown.concat(page.submissions);
      this.next = page.next;
      this.draw();
    } catch {
      this.list.append(h("li", { class: "none" }, t("tries_error")));
    }
  }

  private entry(one: SubmissionBrief): HTMLElement {
    const verdict = one.status === "done" ? one.verdict : null;
    const kind = verdict ? look(verdict) : "fault";
    const counted = verdict !== null && counts(verdict);
    return h(
      "button",
      { type: "button", click: () => this.open(one) },
      h("span", { class: `v-line tinted ${kind}` }, icon(verdict ? kind : "wait"), verdict ? t(`v_${verdict}`) : t("judging"), h("span", { class: "vh" }, t("open_try", { id: one.id }))),
      h("span", {}, counted ? `${points(this.exercise, one.score ?? 0)} / ${this.exercise.points}` : verdict ? t("not_counted") : ""),
      h("span", {}, clock(one.created_at)),
    );
  }
}
