import type { Note } from "./types";

/** English counts one thing in the singular, whichever number of the sentence it is. */
export function singular(form: string, values: Note["values"]): string {
  return form.replace(COUNTED, (whole, field: string, noun: string, are?: string) =>
    values[field] === 1 ? `{${field}} ${noun}${are ? " is" : ""}` : whole,
  );
}

const COUNTED = /\{(\w+)\} (byte|lock|message|node|page|rank|request|row|step|token)s\b( are\b)?/g;
