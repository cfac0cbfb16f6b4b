/** Problems under the text, from Python's own parser in the tab. Nothing is loaded for them alone. */

import { linter } from "@codemirror/lint";
import type { Extension } from "@codemirror/state";
import type { Runner } from "../../runner/types";
import { lang } from "../words";

export function lintBy(ready: () => Runner | null): Extension {
  return linter(
    async (view) => {
      const runner = ready();
      if (runner?.state.phase !== "ready") return [];
      const { doc } = view.state;
      try {
        const items = await runner.lint(doc.toString());
        return items.map((item) => {
          const from = offset(doc, item.line, item.column);
          const to = Math.max(from, offset(doc, item.endLine, item.endColumn));
          return { from, to: to === from ? Math.min(doc.length, from + 1) : to, severity: item.severity, message: item.message[lang()] };
        });
      } catch {
        return []; // busy with a run; the next change asks again
      }
    },
    { delay: 600 },
  );
}

interface Doc {
  lines: number;
  length: number;
  line(number: number): { from: number; to: number };
}

function offset(doc: Doc, line: number, column: number): number {
  const at = doc.line(Math.min(Math.max(1, line), doc.lines));
  return Math.min(at.to, at.from + Math.max(0, column - 1));
}
