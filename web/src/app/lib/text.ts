/** The first line, from 1, with half a character: a surrogate alone, as a broken paste leaves it; null where there is none. */
export function halfCharacter(code: string): number | null {
  const at = code.search(/\p{Surrogate}/u);
  return at < 0 ? null : code.slice(0, at).split("\n").length;
}
