/** Words of the catalogue's [animation] section; the build puts those of a module into it. */

import catalogue from "virtual:words";
import { singular } from "../web/src/book/singular";
import type { Context, Note } from "./types";

export function makeContext(lang: unknown): Context {
  const chosen = lang === "zh" ? "zh" : "en";
  const words = catalogue[chosen];
  const word = (key: string): string => words[key] ?? key;
  const say = (note: Note): string => {
    const alone = note.values["n"] === 1 ? words[`${note.key}_one`] : undefined;
    const form = alone ?? word(note.key);
    return (chosen === "en" ? singular(form, note.values) : form).replace(/\{(\w+)\}/g, (whole, field: string) => {
      const value = note.values[field];
      if (value === undefined) return whole;
      return Array.isArray(value) ? value.join(word("player_list")) : String(value);
    });
  };
  return { lang: chosen, say, word };
}

export const note = (key: string, values: Note["values"] = {}): Note => ({ key, values });
