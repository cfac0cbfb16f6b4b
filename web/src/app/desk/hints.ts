/** The ladder of hints: one at a time, the price said before, and the focus goes to the one that has come. */

import { h, rich } from "../dom";
import type { Store } from "../store/database";
import type { ExerciseData } from "../types";
import { t } from "../words";

export class Hints {
  private shown = 0;

  constructor(
    private readonly exercise: ExerciseData,
    private readonly store: Store,
    private readonly prefix: string,
  ) {}

  private get key(): string {
    return `hints:${this.exercise.id}`;
  }

  /** As many as were shown before, on whatever page. */
  async load(): Promise<void> {
    const { value } = (await this.store.get("meta", this.key)) ?? {};
    this.shown = typeof value === "number" ? Math.min(value, this.exercise.hints.length) : 0;
  }

  element(): HTMLElement | null {
    if (!this.exercise.hints.length) return null;
    const section = h("section", { class: "hints", "aria-labelledby": `${this.prefix}hints-h` });
    this.draw(section);
    return section;
  }

  private draw(section: HTMLElement): void {
    const all = this.exercise.hints;
    const next = (): void => {
      this.shown += 1;
      void this.store.put("meta", { key: this.key, value: this.shown }).catch(() => {});
      this.draw(section);
      document.getElementById(`${this.prefix}hint-${this.shown}`)?.focus();
    };
    const more = h("button", { class: "btn", type: "button", click: next }, t("hint_show", { n: this.shown + 1 }));
    section.replaceChildren(
      h(
        "h3",
        { id: `${this.prefix}hints-h` },
        t("hints"),
        h("span", { class: "ladder", "aria-hidden": "true" }, all.map((_, at) => h("i", { class: at < this.shown ? "on" : null }))),
        h("span", { class: "num small" }, t("hints_shown", { n: this.shown, all: all.length })),
      ),
      h("ol", {}, all.slice(0, this.shown).map((hint, at) => h("li", { tabindex: "-1", id: `${this.prefix}hint-${at + 1}` }, rich(hint)))),
      h("p", { class: "acts" }, this.shown < all.length ? more : null, h("span", { class: "small" }, t("hints_free"))),
    );
  }
}
