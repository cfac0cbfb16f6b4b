/** Steps as ticks, the learner's calls as yellow blocks, and a slider over them. */

import { h } from "../dom";
import type { Step } from "../types";

const MOST = 240;

export class Scrubber {
  readonly element: HTMLElement;
  readonly slider: HTMLInputElement;
  private readonly ticks: HTMLElement[] = [];
  private readonly each: number;

  constructor(steps: readonly Step[], label: string, onSeek: (step: number) => void) {
    const last = Math.max(0, steps.length - 1);
    this.slider = h("input", { type: "range", min: 0, max: last, step: 1, value: 0, "aria-label": label });
    this.slider.addEventListener("input", () => onSeek(Number(this.slider.value)));
    this.each = Math.max(1, Math.ceil(steps.length / MOST));
    const ticks = h("div", { class: this.each > 1 || steps.length > 90 ? "ticks dense" : "ticks", "aria-hidden": "true" });
    let shown = 0;
    for (let i = 0; i < steps.length; i += this.each) {
      const mine = steps.slice(i, i + this.each).find((step) => step.call !== undefined);
      const tick = h("i", mine ? { class: "mine" } : {});
      if (mine?.call !== undefined && mine.call > shown) {
        shown = mine.call;
        tick.classList.add("call");
        if (this.each === 1 && steps.length <= 90) tick.append(String(mine.call));
      }
      this.ticks.push(tick);
      ticks.append(tick);
    }
    this.element = h("div", { class: "scrub" }, ticks, this.slider);
  }

  show(step: number, text: string): void {
    const at = Math.floor(step / this.each);
    this.ticks.forEach((tick, i) => {
      tick.classList.toggle("past", i <= at);
      tick.classList.toggle("now", i === at);
    });
    this.slider.value = String(step);
    this.slider.setAttribute("aria-valuetext", text);
  }

  /** Something is wrong at a step. */
  markBad(step: number): void {
    this.ticks[Math.floor(step / this.each)]?.classList.add("bad");
  }
}
