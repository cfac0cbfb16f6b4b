/** Steps as columns of the token budget: decodes on top, chunks below them; beside it how far each prompt is. */

import { h, setText } from "../dom";
import { ownerClass } from "../player/owners";
import { name } from "../trace";
import type { Context, TraceEvent, View } from "../types";
import { note } from "../words";
import type { ChunkState, Part, Request } from "./fold";

const [HEIGHT, WIDTH] = [208, 76];

export function view(stage: HTMLElement, _events: readonly TraceEvent[], context: Context): View<ChunkState> {
  const progress = h("div", { class: "progress" });
  const columns = h("div", { class: "columns", role: "img" });
  const budget = h("p", { class: "budget" });
  stage.append(progress, budget, columns);
  let shown: ChunkState | null = null;
  let width = 0;
  let rows = 0;
  const draw = (state: ChunkState): void => {
    width = stage.clientWidth;
    const room = Math.max(3, Math.floor((width || 700) / (WIDTH + 6)));
    const from = Math.max(0, state.columns.length - room);
    columns.replaceChildren(...state.columns.slice(from).map((parts, i) => column(parts, from + i, state)));
    columns.setAttribute("aria-label", state.note ? context.say(state.note) : context.word("chunked_prefill_title"));
  };
  return {
    survey(state) {
      rows = Math.max(rows, Math.min(10, state.reqs.length));
      progress.style.minHeight = `${rows * 26}px`;
    },
    update(state) {
      shown = state;
      setText(budget, context.say(note("chunked_prefill_budget", { n: state.budget })));
      progress.replaceChildren(...state.reqs.slice(-10).map((one) => bar(one, state, context)));
      draw(state);
    },
    resize() {
      if (shown && stage.clientWidth !== width) draw(shown);
    },
  };
}

function column(parts: readonly Part[], index: number, state: ChunkState): HTMLElement {
  const last = index === state.columns.length - 1;
  const stack = h("div", { class: "stack" });
  stack.style.height = `${HEIGHT}px`;
  const ordered = [...parts.filter((part) => part.decode), ...parts.filter((part) => !part.decode)];
  for (const part of ordered) {
    const tokens = part.to - part.from;
    const block = h("span", { class: `part ${ownerClass(name(part.req), state.order)} ${part.decode ? "decode" : "prompt"}${part.chunk ? " chunk" : ""}` });
    const height = Math.max(3, (tokens / state.budget) * HEIGHT);
    block.style.height = `${height}px`;
    if (height >= 13) {
      block.append(h("b", {}, name(part.req)));
      if (height >= 30 && !part.decode) block.append(h("i", {}, `[${part.from}, ${part.to})`));
      else block.append(h("i", {}, String(tokens)));
    }
    stack.append(block);
  }
  const total = parts.reduce((sum, part) => sum + part.to - part.from, 0);
  return h("div", { class: last ? "col now" : "col" }, stack, h("span", { class: "k" }, String(index + 1)), h("span", { class: "n" }, String(total)));
}

function bar(one: Request, state: ChunkState, context: Context): HTMLElement {
  const colour = ownerClass(name(one.uid), state.order);
  const fill = h("i", { class: colour });
  fill.style.width = `${Math.min(100, (100 * Math.min(one.computed, one.input)) / Math.max(1, one.input))}%`;
  const fallen = state.fallen.includes(one.uid);
  const key = fallen ? "fallen" : one.state;
  const said = context.say(note(`chunked_prefill_${key}`, { n: Math.min(one.computed, one.input), of: one.input, out: one.generated, most: one.output }));
  return h("div", { class: fallen ? "prog fallen" : "prog" }, h("span", { class: `who ${colour}` }, name(one.uid)), h("span", { class: "track" }, fill), h("span", { class: "said" }, said));
}
