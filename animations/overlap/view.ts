/** Two lanes a run, CPU over GPU, on one scale of time. */

import { h, s, setText } from "../dom";
import type { Context, TraceEvent, View } from "../types";
import { note } from "../words";
import { idle, type Box, type OverlapState, type Run } from "./fold";

const [LANE, GAP, LABEL, MS] = [34, 6, 44, 15];

export function view(stage: HTMLElement, events: readonly TraceEvent[], context: Context): View<OverlapState> {
  const runs = Math.max(1, events.filter((event) => event.type === "setup").length);
  const blocks = Array.from({ length: Math.min(runs, 2) }, () => {
    const words = h("p", { class: "runword" });
    const svg = s("svg", { role: "img", class: "lanes", height: 2 * LANE + GAP + 22 });
    const scroll = h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": context.word("overlap_lanes") }, svg);
    stage.append(words, scroll);
    return { words, svg, scroll };
  });
  const keys = ["launch", "compute", "handle", "idle"].map((key) =>
    h("span", {}, h("i", { class: `key ${key}` }), context.word(`overlap_key_${key}`)),
  );
  stage.append(h("p", { class: "keys" }, ...keys));
  return {
    update(state) {
      const shown = state.runs.slice(-blocks.length);
      blocks.forEach(({ words, svg, scroll }, i) => {
        const run = shown[i];
        setText(words, run ? describe(run, context) : context.word("overlap_later"));
        svg.replaceChildren(...(run ? lanes(run, state, state.runs.indexOf(run), context) : []));
        const width = LABEL + Math.max(20, run?.cpu ?? 0, run?.gpu ?? 0) * MS + 12;
        svg.setAttribute("width", String(width));
        svg.setAttribute("aria-label", run ? describe(run, context) : context.word("overlap_later"));
        if (run && run === state.runs[state.runs.length - 1]) scroll.scrollLeft = width;
      });
    },
  };
}

function describe(run: Run, context: Context): string {
  const key = run.overlap === null ? "overlap_run" : run.overlap ? "overlap_run_on" : "overlap_run_off";
  return context.say(note(key, { k: run.launched, ms: Math.max(run.cpu, run.gpu), idle: idle(run) }));
}

function lanes(run: Run, state: OverlapState, index: number, context: Context): SVGElement[] {
  const drawn: SVGElement[] = [];
  const end = LABEL + Math.max(20, run.cpu, run.gpu) * MS;
  (["cpu", "gpu"] as const).forEach((lane, i) => {
    const y = i * (LANE + GAP);
    drawn.push(s("rect", { class: "ground", x: LABEL, y, width: end - LABEL, height: LANE }));
    drawn.push(s("text", { class: "lane", x: 0, y: y + LANE / 2 + 4 }, lane.toUpperCase()));
  });
  const gpu = run.boxes.filter((box) => box.lane === "gpu");
  gpu.slice(1).forEach((box, i) => {
    const before = gpu[i] as Box;
    if (box.from > before.to) {
      drawn.push(s("rect", { class: "idle", x: LABEL + before.to * MS, y: LANE + GAP, width: (box.from - before.to) * MS, height: LANE }));
    }
  });
  const last = run.boxes[run.boxes.length - 1];
  for (const box of run.boxes) drawn.push(boxOf(box, box === last || (last?.lane === "gpu" && box.k === last.k), isStale(box, state, index)));
  for (let ms = 0; LABEL + ms * MS <= end; ms += 5) {
    drawn.push(s("text", { class: "tick", x: LABEL + ms * MS, y: 2 * LANE + GAP + 16 }, ms === 0 ? context.word("overlap_ms") : String(ms)));
  }
  return drawn;
}

function isStale(box: Box, state: OverlapState, index: number): boolean {
  return box.lane === "gpu" && state.stale.some((one) => one.run === index && one.k === box.k);
}

function boxOf(box: Box, now: boolean, stale: boolean): SVGGElement {
  const y = box.lane === "cpu" ? 0 : LANE + GAP;
  const [x, width] = [LABEL + box.from * MS, (box.to - box.from) * MS];
  const group = s("g", { class: `box ${box.kind}${now ? " now" : ""}${stale ? " stale" : ""}` });
  group.append(s("rect", { x: x + 0.5, y: y + 0.5, width: width - 1, height: LANE - 1, rx: 2 }));
  group.append(s("text", { x: x + width / 2, y: y + LANE / 2 + 4 }, String(box.k)));
  return group;
}
