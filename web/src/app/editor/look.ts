/** The editor's look, from the site's own colours. */

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "transparent", fontSize: "var(--ed-size, var(--size-ui))" },
  "&.cm-focused": { outline: "none" },
  // above the gutter and a scroll bar, which would cover an outline
  "&.cm-focused::after": { content: '""', position: "absolute", inset: "0", zIndex: "1", border: "2px solid var(--pen)", pointerEvents: "none" },
  ".cm-scroller": { fontFamily: "var(--font-code)", fontVariantLigatures: "none", lineHeight: "var(--lh-code)", overflowX: "auto" },
  ".cm-content": { padding: "var(--s3) 0", caretColor: "var(--ink)", minHeight: "10rem" },
  ".cm-line": { padding: "0 var(--s5) 0 var(--s4)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--ink-3)", border: "none", fontSize: "0.93em" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "3.4em", padding: "0 0.3rem 0 0" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--line) 35%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--ink)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--ink)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--pen) 26%, transparent)",
  },
  ".cm-content ::selection": { backgroundColor: "color-mix(in srgb, var(--pen) 26%, transparent)" },
  ".cm-matchingBracket": { outline: "1px solid var(--line-control)", backgroundColor: "transparent !important" },
  ".cm-nonmatchingBracket": { color: "var(--wrong)" },
  ".cm-line.ran": { backgroundColor: "var(--mark-soft)", boxShadow: "inset 4px 0 var(--mark)", color: "var(--mark-soft-ink)" },
  ".cm-line.broke": { backgroundColor: "var(--wrong-tint)", boxShadow: "inset 4px 0 var(--wrong-edge)" },
  ".cm-searchMatch": { backgroundColor: "var(--pen-tint)", outline: "1px solid var(--line-control)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--pen-tint)", outline: "2px solid var(--pen)" },
  ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--ink)", fontFamily: "var(--font-text)" },
  ".cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panel.cm-search": { padding: "var(--s2) var(--s4)", fontSize: "var(--size-ui)" },
  ".cm-panel.cm-search label": { fontSize: "var(--size-small)" },
  ".cm-textfield": { border: "1px solid var(--line-control)", borderRadius: "var(--r-control)", backgroundColor: "var(--paper)", color: "var(--ink)", fontSize: "var(--size-ui)", padding: "0.2rem 0.4rem" },
  ".cm-button": { border: "1px solid var(--line-control)", borderRadius: "var(--r-control)", backgroundImage: "none", backgroundColor: "var(--surface)", color: "var(--ink)", fontSize: "var(--size-small)" },
  ".cm-panel.cm-search [name=close]": { color: "var(--ink)", fontSize: "1.1rem", minWidth: "24px", minHeight: "24px" },
  ".cm-tooltip": { border: "1px solid var(--line-strong)", borderRadius: "var(--r-control)", backgroundColor: "var(--surface)", color: "var(--ink)", fontFamily: "var(--font-code)", fontSize: "var(--size-small)", maxWidth: "min(36rem, 90vw)" },
  ".cm-tooltip .about, .cm-completionInfo": { fontFamily: "var(--font-text)", color: "var(--ink-2)" },
  ".cm-tooltip.signature": { padding: "var(--s1) var(--s2)" },
  ".cm-tooltip.signature b": { color: "var(--pen)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--pen)", color: "var(--on-pen)" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "0.8" },
  ".cm-diagnostic": { fontFamily: "var(--font-text)", padding: "var(--s1) var(--s2)" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--wrong-edge)" },
  ".cm-diagnostic-warning": { borderLeft: "3px solid var(--line-control)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--wrong-edge)", textDecorationSkipInk: "none" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline dotted var(--ink-3)" },
});

const highlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null, tags.operatorKeyword], color: "var(--code-k)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-s)" },
  { tag: tags.number, color: "var(--code-n)" },
  { tag: [tags.comment, tags.docComment], color: "var(--code-c)" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], color: "var(--code-f)", fontWeight: "600" },
  { tag: [tags.self, tags.meta, tags.standard(tags.name)], color: "var(--code-b)" },
]);

export const look: Extension = [theme, syntaxHighlighting(highlight)];
