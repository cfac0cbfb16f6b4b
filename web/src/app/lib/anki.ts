/** Cards as a text file that Anki imports: its header lines, then one card a line, fields parted by tabs. */

export interface Card {
  key: string;
  chapter: string;
  /** HTML. */
  question: string;
  answer: string;
}

/** The same cards always give the same text, so that importing again updates instead of adding. */
export function ankiText(cards: readonly Card[], deck: string): string {
  const head = ["#separator:tab", "#html:true", "#notetype:Basic", `#deck:${deck}`, "#guid column:1", "#tags column:4"];
  const rows = cards.map((card) =>
    [`minisgl:${card.key}`, field(card.question), field(card.answer), `minisgl::${card.chapter}`].join("\t"),
  );
  return `${[...head, ...rows].join("\n")}\n`;
}

/** A field has no tabs or line breaks; one that holds quotes is quoted, as in CSV. */
function field(html: string): string {
  const flat = html
    .replace(/<pre>[\s\S]*?<\/pre>/g, (block) => block.replaceAll("\n", "<br>"))
    .replace(/\s*\n\s*/g, " ")
    .replaceAll("\t", " ");
  return /"/.test(flat) ? `"${flat.replaceAll('"', '""')}"` : flat;
}
