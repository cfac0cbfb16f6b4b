/** Graphs as buckets by size, and the shelf that a replay reads. */

import { h, setText } from "../dom";
import { ownerClass } from "../player/owners";
import { name } from "../trace";
import type { Context, TraceEvent, View } from "../types";
import { note } from "../words";
import type { GraphState } from "./fold";

const MOST_GRAPHS = 40;
const MOST_SLOTS = 64;

export function view(stage: HTMLElement, _events: readonly TraceEvent[], context: Context): View<GraphState> {
  const graphs = h("div", { class: "graphs", role: "img" });
  const shelf = h("div", { class: "shelf" });
  const facts = h("p", { class: "facts" });
  stage.append(
    h("p", { class: "word" }, context.word("cuda_graph_graphs")),
    graphs,
    h("p", { class: "word" }, context.word("cuda_graph_shelf")),
    shelf,
    facts,
  );
  return {
    update(state) {
      graphs.replaceChildren(...state.graphs.slice(0, MOST_GRAPHS).map((graph) => bucket(graph.size, graph.replays, state, context)));
      if (state.graphs.length === 0) graphs.append(h("span", { class: "none" }, context.word("cuda_graph_none")));
      graphs.setAttribute("aria-label", state.note ? context.say(state.note) : context.word("cuda_graph_title"));
      shelf.replaceChildren(...shelfOf(state, context));
      setText(facts, context.say(note("cuda_graph_facts", { replays: state.replays, eager: state.eager, real: state.real, padded: state.padded })));
    },
  };
}

function bucket(size: number, replays: number, state: GraphState, context: Context): HTMLElement {
  const now = state.ran === size;
  const box = h("div", { class: now ? "graph now" : "graph" }, h("b", {}, String(size)));
  box.append(h("span", {}, context.say(note("cuda_graph_replays", { n: replays }))));
  return box;
}

function shelfOf(state: GraphState, context: Context): HTMLElement[] {
  const rows = ["input_ids", "positions", "out_loc"];
  if (state.shelf.length === 0) {
    const key = state.ran === 0 ? "cuda_graph_unread" : "cuda_graph_empty";
    return [h("p", { class: "none" }, context.word(key))];
  }
  const shown = state.shelf.slice(0, MOST_SLOTS);
  return rows.map((row) => {
    const cells = shown.map((req) => {
      const kind = req === -1 ? "dummy" : req === -2 ? "new" : ownerClass(name(req), state.order);
      return h("span", { class: `slot ${kind}` }, req === -1 ? context.word("cuda_graph_dummy") : req === -2 ? "?" : name(req));
    });
    return h("div", { class: "line" }, h("span", { class: "lab" }, row), ...cells);
  });
}
