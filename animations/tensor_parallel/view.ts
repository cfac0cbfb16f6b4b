/** A lane for each rank; at each meeting a bar across them. */

import { h, s, setText } from "../dom";
import type { Context, TraceEvent, View } from "../types";
import { note } from "../words";
import type { Meeting, ParallelState } from "./fold";

const [STAGE, MEET, LANE, GAP, LABEL, TOP] = [92, 34, 44, 12, 62, 30];
const MOST = 48;

export function view(stage: HTMLElement, _events: readonly TraceEvent[], context: Context): View<ParallelState> {
  const facts = h("p", { class: "facts" });
  const svg = s("svg", { class: "ranks", role: "img" });
  const scroll = h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": context.word("tensor_parallel_title") }, svg);
  stage.append(facts, scroll);
  return {
    update(state) {
      setText(facts, context.say(note("tensor_parallel_facts", { k: state.forward, reduces: state.reduces, gathers: state.gathers, bytes: state.bytes })));
      draw(svg, scroll, state, context);
    },
  };
}

function draw(svg: SVGSVGElement, scroll: HTMLElement, state: ParallelState, context: Context): void {
  const lanes = Math.min(state.ranks, 8);
  const height = TOP + lanes * (LANE + GAP) + 26;
  // keep to the part of a deep model around the meeting that is now
  const from = Math.max(0, Math.min(state.done - MOST / 2, state.plan.length - MOST));
  const plan = state.plan.slice(from, from + MOST);
  const width = LABEL + plan.length * (STAGE + MEET) + STAGE + 8;
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  svg.setAttribute("aria-label", state.note ? context.say(state.note) : context.word("tensor_parallel_title"));
  const drawn: SVGElement[] = [];
  for (let rank = 0; rank < lanes; rank += 1) {
    const y = TOP + rank * (LANE + GAP);
    drawn.push(s("text", { class: "rank", x: 0, y: y + LANE / 2 + 4 }, context.say(note("tensor_parallel_rank", { rank }))));
    drawn.push(s("line", { class: "lane", x1: LABEL, x2: width - 4, y1: y + LANE / 2, y2: y + LANE / 2 }));
  }
  plan.forEach((meeting, i) => {
    const index = from + i;
    const x = LABEL + i * (STAGE + MEET);
    const status = index < state.done ? "done" : index === state.done && state.running ? "now" : "later";
    for (let rank = 0; rank < lanes; rank += 1) drawn.push(work(meeting, x, rank, status, context));
    drawn.push(meetingOf(meeting, x + STAGE, lanes, index === state.done - 1 ? "now" : index < state.done ? "done" : "later"));
    drawn.push(s("text", { class: `what ${status}`, x: x + STAGE / 2, y: TOP - 12 }, title(meeting, context)));
    drawn.push(s("text", { class: "bytes", x: x + STAGE + MEET / 2, y: height - 8 }, String(meeting.bytes)));
  });
  svg.replaceChildren(...drawn);
  const now = LABEL + (state.done - from) * (STAGE + MEET);
  if (width > scroll.clientWidth) scroll.scrollLeft = now - scroll.clientWidth / 2;
}

/** What a rank computes by itself before a meeting: a part of each weight, hence a partial result. */
function work(meeting: Meeting, x: number, rank: number, status: string, context: Context): SVGGElement {
  const y = TOP + rank * (LANE + GAP);
  const group = s("g", { class: `work ${status}` });
  group.append(s("rect", { x: x + 2, y, width: STAGE - 4, height: LANE, rx: 2 }));
  const word = context.word(`tensor_parallel_part_${meeting.kind}`);
  group.append(s("text", { x: x + STAGE / 2, y: y + LANE / 2 + 4 }, word));
  return group;
}

function meetingOf(meeting: Meeting, x: number, lanes: number, status: string): SVGGElement {
  const group = s("g", { class: `meet ${status} ${meeting.type}` });
  const [top, bottom] = [TOP + LANE / 2, TOP + (lanes - 1) * (LANE + GAP) + LANE / 2];
  const middle = x + MEET / 2;
  group.append(s("line", { x1: middle, x2: middle, y1: top, y2: bottom }));
  const y = (top + bottom) / 2;
  group.append(s("circle", { cx: middle, cy: y, r: 13 }));
  const sign = meeting.type === "all_reduce" ? "+" : "||";
  group.append(s("text", { x: middle, y: y + 5 }, sign));
  return group;
}

function title(meeting: Meeting, context: Context): string {
  if (meeting.layer === null) return context.word(`tensor_parallel_title_${meeting.kind}`);
  return context.say(note(`tensor_parallel_title_${meeting.kind}`, { layer: meeting.layer }));
}
