/** The catalogue's words for scripts, which each page carries as JSON. */

import { singular } from "./singular.js";

const element = document.getElementById("words");
const words: Record<string, string> = element ? JSON.parse(element.textContent ?? "{}") : {};

/** An entry with its {placeholders} filled in. */
export function word(key: string, values: Record<string, string | number> = {}): string {
  const found = words[key] ?? key;
  const counted = document.documentElement.lang.startsWith("zh") ? found : singular(found, values);
  return counted.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** What the reader said or did on this device; nothing where the browser keeps nothing. */
export const memory = {
  get(key: string): string | null {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  set(key: string, value: string): void {
    try {
      localStorage.setItem(key, value);
    } catch {
      // Kept until the page is left.
    }
  },
};
