/** The line that says how the last act went: sent, judged, refused, out of reach. */

import { h, icon, rich, say } from "../dom";
import { NoJudge, Refused, Unreachable } from "../judge/client";
import type { ExerciseData, Look } from "../types";
import { t } from "../words";
import { line } from "./verdict";

export class Notice {
  constructor(
    private readonly place: HTMLElement,
    private readonly exercise: ExerciseData,
  ) {}

  say(look: Look, text: string, picture: string = look, ...more: Node[]): void {
    const words = h("span", { class: `${look} tinted` }, icon(picture), h("span", {}, rich(text)));
    say(this.place, words, more);
  }

  verdict(verdict: Parameters<typeof line>[1], score: number): void {
    say(this.place, line(this.exercise, verdict, score));
  }

  clear(): void {
    this.place.replaceChildren();
  }

  /** Why the judge did not take it; any other error is thrown on. */
  refused(error: unknown): void {
    if (error instanceof Refused) this.say(error.status >= 500 ? "fault" : "wrong", error.message);
    else if (error instanceof Unreachable) this.say("fault", t("reconnecting"), "wait");
    else if (error instanceof NoJudge) this.say("fault", t("no_judge", { id: this.exercise.id }));
    else throw error;
  }
}
