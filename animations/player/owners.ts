/** Colours and names of owners: a request's colour follows the order of admission, its name stands beside. */

import { h } from "../dom";
import { name } from "../trace";
import type { Context } from "../types";

/** The class that colours an owner: "free", "cache", "new", "lost" or a request's name. */
export function ownerClass(owner: string, order: readonly number[]): string {
  if (!owner.startsWith("r")) return owner;
  const place = order.indexOf(Number(owner.slice(1)));
  return `o${(place < 0 ? Number(owner.slice(1)) : place) % 5}`;
}

export function ownerWord(owner: string, context: Context): string {
  return owner.startsWith("r") ? owner : context.word(`player_owner_${owner}`);
}

/** Names with their colours. */
export function legend(owners: readonly string[], order: readonly number[], context: Context): HTMLElement {
  const entries = owners.map((owner) =>
    h("span", { class: `who ${ownerClass(owner, order)}` }, ownerWord(owner, context)),
  );
  return h("p", { class: "legend" }, h("span", { class: "vh" }, context.word("player_owners")), ...entries);
}

/** "r0 r3", or "r0–r5" where many follow each other. */
export function shortNames(reqs: readonly number[]): string {
  const [first, last] = [reqs[0], reqs[reqs.length - 1]];
  if (first === undefined || last === undefined) return "";
  if (reqs.length > 2 && last - first === reqs.length - 1) return `${name(first)}–${name(last)}`;
  return reqs.length > 3 ? `${name(first)} +${reqs.length - 1}` : reqs.map(name).join(" ");
}
