/** Buttons for first, back, play, forward, last, and the speed. */

import { h, s } from "../dom";
import type { Context } from "../types";

export type Deed = "first" | "back" | "play" | "forward" | "last";

const SHAPES: Record<Deed | "pause", string> = {
  first: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M9.5 2.5 11 4 7 8l4 4-1.5 1.5L4 8z",
  play: "M4 2.5v11L13 8z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M6.5 2.5 5 4l4 4-4 4 1.5 1.5L12 8z",
  last: "M11 3h2v10h-2zM3 3v10l7-5z",
};
const SPEEDS = [0.5, 1, 2, 4];

export class Transport {
  readonly element: HTMLElement;
  readonly speed: HTMLSelectElement;
  private readonly play: HTMLButtonElement;
  private readonly playShape: SVGPathElement;

  constructor(
    private readonly context: Context,
    onDeed: (deed: Deed) => void,
    onSpeed: () => void,
  ) {
    const buttons = (["first", "back", "play", "forward", "last"] as const).map((deed) => {
      const shape = s("path", { d: SHAPES[deed] });
      const label = context.word(`player_${deed}`);
      const icon = s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, shape);
      const button = h("button", { type: "button", "aria-label": label, title: label, "data-deed": deed }, icon);
      button.addEventListener("click", () => onDeed(deed));
      return { button, shape };
    });
    this.play = (buttons[2] as (typeof buttons)[number]).button;
    this.playShape = (buttons[2] as (typeof buttons)[number]).shape;
    this.element = h("div", { class: "transport", role: "group", "aria-label": context.word("player_steps") });
    this.element.append(...buttons.map(({ button }) => button));
    this.speed = h(
      "select",
      { class: "speed", "aria-label": context.word("player_speed") },
      ...SPEEDS.map((speed) => h("option", { value: speed, selected: speed === 1 }, `${speed} ×`)),
    );
    this.speed.addEventListener("change", onSpeed);
  }

  get factor(): number {
    return Number(this.speed.value) || 1;
  }

  showPlaying(playing: boolean): void {
    this.playShape.setAttribute("d", SHAPES[playing ? "pause" : "play"]);
    const label = this.context.word(playing ? "player_pause" : "player_play");
    this.play.setAttribute("aria-label", label);
    this.play.setAttribute("title", label);
  }
}
