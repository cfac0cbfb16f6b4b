/** A lifeline for each process, messages as arrows between them, time running down. */

import { h, s, setText } from "../dom";
import { shortNames } from "../player/owners";
import { name } from "../trace";
import type { Context, TraceEvent, View } from "../types";
import { note } from "../words";
import type { Entry, LifeState } from "./fold";

const [HEAD, LINE, SHOWN] = [44, 30, 11];

export function view(stage: HTMLElement, _events: readonly TraceEvent[], context: Context): View<LifeState> {
  const facts = h("p", { class: "facts" });
  const svg = s("svg", { class: "lifelines", role: "img", height: HEAD + SHOWN * LINE + 12 });
  const lives = h("p", { class: "lives" });
  stage.append(facts, svg, lives);
  let shown: LifeState | null = null;
  let width = 0;
  const redraw = (state: LifeState): void => {
    width = stage.clientWidth;
    draw(svg, state, width || 700, context);
  };
  return {
    update(state) {
      shown = state;
      setText(facts, context.say(note("request_life_facts", { n: state.messages, bytes: state.bytes })));
      const said = state.lives.slice(-6).map((life) => {
        const key = life.done ? "request_life_life_done" : "request_life_life";
        return context.say(note(key, { req: name(life.uid), at: processWord(life.at, context), n: life.tokens }));
      });
      setText(lives, said.join(" · "));
      redraw(state);
    },
    resize() {
      if (shown && stage.clientWidth !== width) redraw(shown);
    },
  };
}

function processWord(process: string, context: Context): string {
  const key = `request_life_p_${process}`;
  const word = context.word(key);
  return word === key ? process.slice(0, 24) : word;
}

function draw(svg: SVGSVGElement, state: LifeState, width: number, context: Context): void {
  svg.setAttribute("width", String(width));
  const column = width / state.processes.length;
  const xOf = (process: string): number => (Math.max(0, state.processes.indexOf(process)) + 0.5) * column;
  const drawn: SVGElement[] = [];
  const bottom = HEAD + SHOWN * LINE + 6;
  for (const process of state.processes) {
    const x = xOf(process);
    drawn.push(s("line", { class: "life", x1: x, x2: x, y1: HEAD - 10, y2: bottom }));
    const box = Math.min(column - 6, 132);
    drawn.push(s("rect", { class: "process", x: x - box / 2, y: 0.5, width: box, height: 30, rx: 2 }));
    drawn.push(s("text", { class: "pname", x, y: 20 }, processWord(process, context)));
  }
  const entries = state.entries.slice(-SHOWN);
  entries.forEach((entry, i) => {
    const y = HEAD + i * LINE + 18;
    const now = i === entries.length - 1;
    drawn.push(entry.to === null ? doing(entry, xOf(entry.from), y, now, column, context) : arrow(entry, xOf(entry.from), xOf(entry.to), y, now, width));
  });
  svg.replaceChildren(...drawn);
  svg.setAttribute("aria-label", state.note ? context.say(state.note) : context.word("request_life_title"));
}

function doing(entry: Entry, x: number, y: number, now: boolean, column: number, context: Context): SVGGElement {
  const group = s("g", { class: now ? "doing now" : "doing" });
  const width = Math.min(column - 4, 108);
  group.append(s("rect", { x: x - width / 2, y: y - 15, width, height: 22, rx: 2 }));
  const words = `${context.word(`request_life_does_${entry.what}`)} ${shortNames(entry.uids)}`;
  group.append(s("text", { x, y }, words));
  return group;
}

function arrow(entry: Entry, x1: number, x2: number, y: number, now: boolean, width: number): SVGGElement {
  const group = s("g", { class: now ? "message now" : "message" });
  const way = x2 > x1 ? 1 : -1;
  group.append(s("line", { x1, x2: x2 - way * 7, y1: y, y2: y }));
  group.append(s("path", { d: `M${x2} ${y}l${-way * 9} -5v10z` }));
  const words = `${entry.what} ${shortNames(entry.uids)}`.trim();
  const narrow = width < 520;
  const said = narrow ? words : `${words} · ${entry.bytes} B`;
  // the longest of these words is wider than the way between two lines on a phone: keep it inside
  const half = said.length * (narrow ? 3.1 : 3.4);
  const middle = Math.max(half + 2, Math.min(width - half - 2, (x1 + x2) / 2));
  group.append(s("text", { x: middle, y: y - 5 }, said));
  return group;
}
