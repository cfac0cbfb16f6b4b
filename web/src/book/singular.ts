/** English counts one thing in the singular, whichever number of the sentence it is. For the app and animations, too. */
export function singular(form: string, values: Readonly<Record<string, unknown>>): string {
  return form.replace(COUNTED, (whole, field: string, noun: string, are?: string) =>
    values[field] === 1 ? `{${field}} ${noun}${are ? " is" : ""}` : whole,
  );
}

const COUNTED =
  /\{(\w+)\} (byte|card|day|event|function|hint|line|lock|message|minute|node|page|place|point|rank|request|row|step|submission|time|token)s\b( are\b)?/g;
