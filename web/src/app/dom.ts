/** Elements. Texts from the learner, the judge or a file only ever become text nodes. */

import { at } from "./site-data";
import { lang } from "./words";

type Child = Node | string | null | undefined | false;
export type Children = (Child | Child[])[];
type Listener = (event: never) => unknown;
export type Attributes = Record<string, string | number | boolean | null | undefined | Listener>;

/** An element: h("p", {class: "small"}, "text", child). Attributes that are functions are listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Children
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, ...children);
  return element;
}

export function append(parent: Element, ...children: Children): void {
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false && child !== "") parent.append(child);
  }
}

export function icon(name: string, extra = ""): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("class", `i ${extra}`.trim());
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", at(`assets/icons.svg#${name}`));
  svg.append(use);
  return svg;
}

/** Text with `code` in backticks, as nodes. */
export function rich(text: string): (Node | string)[] {
  return text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
}

/** The element with this id; it is part of the page's own template. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element as T;
}

export const reducedMotion = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;

const locale = (): string => (lang() === "zh" ? "zh-CN" : "en-GB");

/** The time, with the day where it is not today's. */
export function clock(moment: string | number): string {
  const when = new Date(moment);
  const time = when.toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit", hour12: false });
  return when.toDateString() === new Date().toDateString() ? time : `${day(moment)} ${time}`;
}

export const day = (moment: string | number): string =>
  new Date(moment).toLocaleDateString(locale(), { month: "2-digit", day: "2-digit" });

export const round = (value: number, digits = 1): string => String(Number(value.toFixed(digits)));

/** Read again by a screen reader only when the words are others. */
export function say(status: HTMLElement, ...children: Children): void {
  const before = status.textContent;
  const fresh = h("span", {}, ...children);
  if (fresh.textContent === before && before !== "") return;
  status.replaceChildren(...fresh.childNodes);
}

export function plainCode(label: string, text: string): HTMLPreElement {
  return h("pre", { class: "plain-code code", tabindex: "0", role: "region", "aria-label": label }, text);
}

/** Offer `text` as a file to save. */
export function download(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
