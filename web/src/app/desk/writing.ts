/** What the learner writes: the editor, and that nothing of it is lost, whatever other windows do. */

import type { Runner } from "../../runner/types";
import { clock, h, icon } from "../dom";
import { apiHelp } from "../editor/api";
import { Editor } from "../editor/editor";
import { lintBy } from "../editor/lint";
import { halfCharacter } from "../lib/text";
import type { Store } from "../store/database";
import { DraftKeeper, type OtherWindow } from "../store/draft";
import { history, remember } from "../store/history";
import type { ExerciseData } from "../types";
import { t } from "../words";
import type { DeskParts } from "./layout";
import type { Notice } from "./notice";
import { diffView, historyList, Panel } from "./panel";

const SAVE_MS = 250;

export class Writing {
  private editor!: Editor; // from start() on
  private readonly key: string;
  private readonly drafts: DraftKeeper;
  private readonly panel: Panel;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly exercise: ExerciseData,
    private readonly store: Store,
    private readonly parts: DeskParts,
    private readonly notice: Notice,
    /** The code of the last submission. */
    private readonly lastTry: () => Promise<string | null>,
  ) {
    this.key = `ex:${exercise.id}`;
    this.panel = new Panel(parts.panel);
    this.drafts = new DraftKeeper(store, this.key, (other) => this.fromOtherWindow(other));
  }

  /** Fill the editor with what was kept; `mount` is called when it is known, before the editor is made. */
  async start(mount: () => void, python: () => Runner | null): Promise<void> {
    const kept = await this.drafts.load();
    mount();
    const { starter, starterOther } = this.exercise;
    const code = kept && kept.code !== starterOther ? kept.code : starter;
    this.editor = new Editor({
      host: this.parts.host,
      code,
      state: kept?.state,
      label: t("editor"),
      onChange: () => this.changed(),
      extensions: [lintBy(python), apiHelp],
    });
    if (kept && code !== starter) this.parts.saved.textContent = t("saved", { time: clock(kept.at) });
    this.listen();
  }

  private listen(): void {
    const { parts } = this;
    parts.over.addEventListener("click", () => void this.startOver());
    parts.history.addEventListener("click", () => void this.showHistory());
    parts.diff.addEventListener("click", () => void this.showDiff());
    for (const button of parts.keys.querySelectorAll("button")) {
      button.addEventListener("pointerdown", (event) => event.preventDefault()); // the text keeps the focus
      button.addEventListener("click", () => {
        if (button.dataset.key === "Tab") this.editor.indent();
        else this.editor.insert(button.dataset.key ?? "");
      });
    }
    addEventListener("pagehide", () => this.flush());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.flush();
    });
  }

  get started(): boolean {
    return this.editor !== undefined;
  }

  get code(): string {
    return this.editor.code;
  }

  mark(lines: { ran?: number[]; broke?: number[] }): void {
    this.editor.mark(lines);
  }

  /** Whether the code can be run or sent; where not, that is said and the editor has the focus. */
  ready(): boolean {
    const line = halfCharacter(this.code);
    if (this.code.trim() && line === null) return true;
    this.notice.say("wrong", line === null ? t("empty") : t("half_character", { line }));
    if (line !== null) this.editor.mark({ broke: [line] });
    this.editor.focus();
    return false;
  }

  replace(code: string): void {
    this.editor.code = code;
    this.save();
    this.editor.focus();
  }

  /** Keep now what is written but not kept yet. */
  flush(): void {
    if (this.timer !== undefined) this.save();
  }

  private changed(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), SAVE_MS);
  }

  private save(): void {
    clearTimeout(this.timer);
    this.timer = undefined; // what is kept may be another window's by the time this one is left
    const untouched = this.code === this.exercise.starter;
    void this.drafts.save(this.code, () => this.editor.state()).then((kept) => {
      this.parts.saved.textContent = !kept ? t("not_saved") : untouched ? "" : t("saved", { time: clock(Date.now()) });
    });
  }

  private fromOtherWindow(other: OtherWindow): void {
    const { note } = this.parts;
    if (!this.started || other.code === this.code) {
      note.hidden = true;
      this.drafts.seen(other);
      return;
    }
    const answer = (take: boolean): void => {
      note.hidden = true;
      void remember(this.store, this.key, take ? this.code : other.code, "other");
      this.drafts.seen(other);
      if (take) this.replace(other.code);
      else this.save();
    };
    note.replaceChildren(
      icon("fault"),
      h("span", {}, t("other_window", { time: clock(other.at) })),
      h("button", { class: "btn", type: "button", click: () => answer(false) }, t("keep_mine")),
      h("button", { class: "btn", type: "button", click: () => answer(true) }, t("take_other")),
    );
    note.hidden = false;
  }

  private async startOver(): Promise<void> {
    if (this.code === this.exercise.starter || !confirm(t("start_over_ask"))) return;
    const old = this.code;
    this.replace(this.exercise.starter);
    await remember(this.store, this.key, old, "over");
  }

  private async showHistory(): Promise<void> {
    const kept = await history(this.store, this.key);
    this.panel.toggle(this.parts.history, () =>
      historyList(kept, this.code, (one) => {
        void remember(this.store, this.key, this.code, "over");
        this.panel.close();
        this.replace(one.code);
      }),
    );
  }

  private async showDiff(): Promise<void> {
    const last = await this.lastTry();
    this.panel.toggle(this.parts.diff, () => {
      if (last === null) return [h("p", { class: "small" }, t("diff_none"))];
      return [h("p", { class: "small" }, t("diff_text")), diffView(last, this.code)];
    });
  }
}
