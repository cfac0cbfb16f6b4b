/** What changed between two texts, line by line. */

import { diffLines } from "diff";

export interface DiffLine {
  kind: "same" | "added" | "removed";
  /** 1 based; null where the line is not in that text. */
  before: number | null;
  after: number | null;
  text: string;
}

/** All lines of both, in order. Whether the last line ends in a newline makes no difference. */
export function diff(before: string, after: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let left = 0;
  let right = 0;
  for (const part of diffLines(ended(before), ended(after))) {
    const kind = part.added ? "added" : part.removed ? "removed" : "same";
    for (const text of part.value.split("\n").slice(0, -1)) {
      if (kind !== "added") left += 1;
      if (kind !== "removed") right += 1;
      lines.push({ kind, before: kind === "added" ? null : left, after: kind === "removed" ? null : right, text });
    }
  }
  return lines;
}

const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

/** `lines` without what is far from any change; null stands for a gap. */
export function hunks(lines: readonly DiffLine[], around = 3): (DiffLine | null)[] {
  const near = new Set<number>();
  lines.forEach((line, at) => {
    if (line.kind === "same") return;
    for (let each = at - around; each <= at + around; each += 1) near.add(each);
  });
  const shown: (DiffLine | null)[] = [];
  lines.forEach((line, at) => {
    if (near.has(at)) shown.push(line);
    else if (shown.length && shown.at(-1) !== null) shown.push(null);
  });
  if (shown.at(-1) === null) shown.pop();
  return shown;
}
