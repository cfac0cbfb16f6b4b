/** The tree from the root down; a node is a box of the cache with its tokens, its locks and who holds them. */

import { hierarchy, tree } from "d3-hierarchy";
import { h, s, setText } from "../dom";
import { ownerClass, shortNames } from "../player/owners";
import type { Context, TraceEvent, View } from "../types";
import { note } from "../words";
import { pathOf, sizes, type Node, type TreeState } from "./fold";

const [WIDTH, HEIGHT, GAP_X, GAP_Y] = [136, 60, 14, 34];
/** More nodes than this are drawn small and without words. */
const MOST_NODES = 400;

interface Datum {
  node: Node | null;
  children: Datum[];
}

export function view(stage: HTMLElement, _events: readonly TraceEvent[], context: Context): View<TreeState> {
  const facts = h("p");
  const holders = h("p", { class: "legend" });
  const svg = s("svg", { role: "img", class: "tree" });
  const scroll = h("div", { class: "scroll treebox", tabindex: 0, role: "group", "aria-label": context.word("radix_tree_title") }, svg);
  stage.append(h("div", { class: "facts" }, facts, holders), scroll);
  let depth = 1;
  return {
    survey(state) {
      depth = Math.max(depth, ...state.nodes.map((node) => pathOf(state, node.id).length));
      scroll.style.minHeight = `${Math.min(30, (depth * (HEIGHT + GAP_Y) + 48) / 16)}rem`;
    },
    update(state) {
      const of = sizes(state);
      const live = state.nodes.filter((node) => !node.gone).length;
      setText(facts, context.say(note("radix_tree_facts", { ...of, n: live })));
      holders.replaceChildren(
        ...state.live.slice(0, 8).map((req) => h("span", { class: `who ${ownerClass(`r${req}`, state.order)}` }, `r${req}`)),
      );
      draw(svg, scroll, state, context);
    },
  };
}

function draw(svg: SVGSVGElement, scroll: HTMLElement, state: TreeState, context: Context): void {
  const layout = tree<Datum>()
    .nodeSize([WIDTH + GAP_X, HEIGHT + GAP_Y])
    .separation((a, b) => (a.parent === b.parent ? 1 : 1.12));
  const root = layout(hierarchy(treeOf(state)));
  const places = root.descendants();
  const xs = places.map((place) => place.x);
  const [left, right] = [Math.min(...xs) - WIDTH / 2 - 4, Math.max(...xs) + WIDTH / 2 + 4];
  const bottom = Math.max(...places.map((place) => place.y)) + HEIGHT + 22;
  svg.setAttribute("viewBox", `${left} -4 ${right - left} ${bottom + 4}`);
  svg.setAttribute("width", String(right - left));
  svg.setAttribute("height", String(bottom + 4));
  svg.setAttribute("aria-label", describe(state, context));
  const users = usersOf(state);
  const lines = root.links().map(({ source, target }) => {
    const [x1, y1] = [source.x, source.y + (source.data.node ? HEIGHT : 26)];
    const [x2, y2] = [target.x, target.y];
    const middle = (y1 + y2) / 2;
    const kind = target.data.node?.walked ? "edge walked" : "edge";
    return s("path", { class: kind, d: `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}` });
  });
  const boxes = places.slice(0, MOST_NODES).map((place) => box(place.data.node, place.x, place.y, state, users, context));
  svg.replaceChildren(...lines, ...boxes);
  const seen = places.find((place) => place.data.node?.walked || place.data.node?.gone);
  if (seen && right - left > scroll.clientWidth) scroll.scrollLeft = seen.x - left - scroll.clientWidth / 2;
}

function box(
  node: Node | null,
  x: number,
  y: number,
  state: TreeState,
  users: Map<number, number[]>,
  context: Context,
): SVGGElement {
  const group = s("g", { transform: `translate(${x - WIDTH / 2} ${y})` });
  if (!node) {
    group.append(s("circle", { class: "root", cx: WIDTH / 2, cy: 13, r: 13 }));
    group.append(s("text", { x: WIDTH / 2, y: 17, class: "rootword" }, context.word("radix_tree_root")));
    if (state.walk) {
      const asked = context.say(note("radix_tree_walk", { n: state.walk.matched, len: state.walk.length }));
      group.append(s("text", { x: WIDTH / 2 + 20, y: 17, class: "asked" }, asked));
    }
    return group;
  }
  const marks = [node.gone ? "gone" : "cache", node.walked ? "walked" : "", node.fresh ? "fresh" : ""].join(" ");
  group.setAttribute("class", `node ${marks}`);
  group.append(s("rect", { width: WIDTH, height: HEIGHT, rx: 2 }));
  if (node.gone) group.append(s("rect", { class: "hatch", width: WIDTH, height: HEIGHT, rx: 2 }));
  const pages = node.locations.length / state.size;
  const size = state.size === 1 ? "" : ` · ${context.say(note("radix_tree_pages", { n: pages }))}`;
  group.append(s("text", { x: 8, y: 19, class: "size" }, context.say(note("radix_tree_tokens", { n: node.locations.length })) + size));
  group.append(s("text", { x: 8, y: 36, class: "ids" }, idsOf(node)));
  const key = node.gone ? "radix_tree_gone" : node.locks > 0 ? "radix_tree_locks_of" : "radix_tree_unlocked";
  group.append(s("text", { x: 8, y: 52, class: node.locks > 0 ? "locks held" : "locks" }, context.say(note(key, { n: node.locks }))));
  const names = users.get(node.id) ?? [];
  if (names.length > 0) group.append(s("text", { x: WIDTH - 8, y: 52, class: "users" }, shortNames(names)));
  group.append(s("text", { x: WIDTH - 8, y: 19, class: "used" }, `t${node.used}`));
  return group;
}

function idsOf(node: Node): string {
  const shown = node.ids.slice(0, 4).map((id) => (id === null ? "?" : String(id)));
  return `${shown.join(" ")}${node.ids.length > 4 ? " …" : ""}`;
}

/** The requests that hold a node locked, by the node's id. */
function usersOf(state: TreeState): Map<number, number[]> {
  const users = new Map<number, number[]>();
  for (const req of state.order) {
    for (const node of pathOf(state, state.held[req] ?? null)) users.set(node.id, [...(users.get(node.id) ?? []), req]);
  }
  return users;
}

function treeOf(state: TreeState): Datum {
  const root: Datum = { node: null, children: [] };
  const data = new Map<number, Datum>(state.nodes.map((node) => [node.id, { node, children: [] }]));
  for (const datum of data.values()) {
    const parent = datum.node?.parent ?? null;
    ((parent === null ? undefined : data.get(parent)) ?? root).children.push(datum);
  }
  return root;
}

function describe(state: TreeState, context: Context): string {
  const parts = state.nodes.slice(0, 24).map((node) => {
    const depth = pathOf(state, node.id).length;
    const key = node.gone ? "radix_tree_node_gone" : "radix_tree_node";
    return context.say(note(key, { depth, len: node.locations.length, locks: node.locks }));
  });
  return context.say(note("radix_tree_described", { nodes: parts }));
}
