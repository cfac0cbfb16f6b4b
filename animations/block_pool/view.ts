/** Blocks in use above, each in its own place; free blocks below, in the order of the queue. */

import { h, setText } from "../dom";
import type { Context, TraceEvent, View } from "../types";
import { note } from "../words";
import type { Block, BlockState } from "./state";

const [WIDE, HIGH, LABEL, GAP] = [80, 72, 24, 8];

interface Spot {
  x: number;
  y: number;
}

interface Tile {
  element: HTMLElement;
  ref: HTMLElement;
  key: HTMLElement;
}

export function view(stage: HTMLElement, _events: readonly TraceEvent[], context: Context): View<BlockState> {
  return new BlockView(stage, context);
}

class BlockView implements View<BlockState> {
  private readonly call = h("p", { class: "deed" });
  private readonly floor = h("div", { class: "floor", role: "img" });
  private readonly held: HTMLElement;
  private readonly queued: HTMLElement;
  private tiles: Tile[] = [];
  /** Of each block its own place above, and one in the queue. */
  private places: HTMLElement[] = [];
  /** Entries of the queue that are no free block: they have no tile of their own. */
  private extras: HTMLElement[] = [];
  private most = 0;
  private longest = 0;
  private state: BlockState | null = null;

  constructor(
    stage: HTMLElement,
    private readonly context: Context,
  ) {
    this.held = h("p", { class: "lane" }, context.word("block_pool_held"));
    this.queued = h("p", { class: "lane" }, context.word("block_pool_queue"));
    const kinds = ["o0 held", "cache keyed", "free plain"].map((kind) => {
      const [colour, name] = kind.split(" ");
      return h("span", { class: `who ${colour}` }, context.word(`block_pool_is_${name}`));
    });
    const legend = h("p", { class: "legend" }, h("span", { class: "vh" }, context.word("player_owners")), ...kinds);
    this.floor.append(this.held, this.queued);
    stage.append(h("div", { class: "facts" }, this.call, legend), this.floor);
  }

  survey(state: BlockState): void {
    this.most = Math.max(this.most, state.blocks.length);
    this.longest = Math.max(this.longest, state.queue.length);
  }

  update(state: BlockState): void {
    this.survey(state);
    this.state = state;
    while (this.tiles.length < state.blocks.length) this.add(this.tiles.length);
    this.tell(state);
    this.draw(state);
  }

  resize(): void {
    if (this.state) this.draw(this.state);
  }

  private add(block: number): void {
    const [ref, key] = [h("span", { class: "ref" }), h("span", { class: "key" })];
    const element = h("div", { class: "tile" }, h("b", {}, String(block)), ref, key);
    this.tiles.push({ element, ref, key });
    this.places.push(h("div", { class: "place" }), h("div", { class: "place" }));
    this.floor.prepend(...this.places.slice(-2));
    this.floor.append(element);
  }

  private tell({ call, note: said }: BlockState): void {
    if (!call) return this.call.replaceChildren();
    const raised = said?.key === "block_pool_raised";
    const gave = call.gave ? h("span", { class: raised ? "gave raised" : "gave" }, ` → ${call.gave}`) : null;
    this.call.replaceChildren(h("b", {}, call.op), `(${call.args})`, ...(gave ? [gave] : []));
  }

  private draw(state: BlockState): void {
    const columns = Math.max(1, Math.floor((this.floor.clientWidth + GAP) / WIDE));
    const below = LABEL + Math.max(1, Math.ceil(this.most / columns)) * HIGH + GAP;
    const spot = (i: number, top: number): Spot => ({ x: (i % columns) * WIDE, y: top + Math.floor(i / columns) * HIGH });
    this.floor.style.height = `${below + LABEL + Math.max(1, Math.ceil(this.longest / columns)) * HIGH}px`;
    this.queued.style.top = `${below}px`;
    this.places.forEach((place, i) => {
      put(place, spot(i >> 1, i % 2 === 0 ? LABEL : below + LABEL));
      place.hidden = i >> 1 >= state.blocks.length;
    });
    for (const one of this.extras) one.remove();
    this.extras = [];
    const standing = new Map<number, Spot>();
    state.queue.forEach((entry, i) => {
      const at = spot(i, below + LABEL);
      const free = typeof entry === "number" && state.blocks[entry]?.ref === 0 && !standing.has(entry);
      if (free) standing.set(entry, at);
      else this.extra(String(entry), at);
    });
    this.tiles.forEach((tile, block) => {
      const one = state.blocks[block];
      tile.element.hidden = !one;
      if (!one) return;
      put(tile.element, standing.get(block) ?? spot(block, LABEL));
      tile.element.className = `tile ${kindOf(one, standing.has(block))}${state.at === block ? " at" : ""}`;
      setText(tile.ref, this.context.say(note("block_pool_ref", { ref: one.ref ?? "?" })));
      const lost = state.at === block ? state.lost : null;
      setText(tile.key, one.key ?? lost ?? "");
      tile.key.className = one.key !== null ? "key named" : lost !== null ? "key named lost-key" : "key";
    });
    this.floor.setAttribute("aria-label", this.describe(state));
  }

  private extra(text: string, at: Spot): void {
    const element = h("div", { class: "tile lost" }, h("b", {}, text));
    put(element, at);
    this.extras.push(element);
    this.floor.append(element);
  }

  private describe(state: BlockState): string {
    const held = state.blocks.flatMap(({ ref }, i) => (ref ? [this.context.say(note("block_pool_use", { block: i, ref }))] : []));
    const none = this.context.word("block_pool_none");
    return this.context.say(
      note("block_pool_described", { held: held.length > 0 ? held : none, queue: state.queue.length > 0 ? state.queue : none }),
    );
  }
}

function put(element: HTMLElement, { x, y }: Spot): void {
  element.style.transform = `translate(${x}px, ${y}px)`;
}

function kindOf({ ref, key }: Block, queued: boolean): string {
  if (queued) return key === null ? "free" : "cache";
  return ref ? "o0" : "lost";
}
