/** The words of the catalogue's [web] section, in the page's language. */

import { singular } from "../book/singular";

export type Lang = "zh" | "en";

let words: Readonly<Record<string, string>> | null = null;
let language: Lang | null = null;

function embedded<T>(id: string): T | null {
  const element = document.getElementById(id);
  return element ? (JSON.parse(element.textContent ?? "null") as T) : null;
}

/** For pages that carry no words of their own, such as a chapter. */
export function useWords(lang: Lang, own: Readonly<Record<string, string>>): void {
  language = lang;
  words = own;
}

export function lang(): Lang {
  language ??= document.documentElement.lang.startsWith("zh") ? "zh" : "en";
  return language;
}

/** The words for `key`, with {placeholders} filled in. */
export function t(key: string, values: Readonly<Record<string, string | number>> = {}): string {
  words ??= embedded<Record<string, string>>("words-data") ?? {};
  const found = words[key];
  if (found === undefined) throw new Error(`no words for ${key}`);
  const form = lang() === "en" ? singular(found, values) : found;
  return form.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
}

export const data = embedded;
