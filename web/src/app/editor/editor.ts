/**
 * The editor: CodeMirror 6 without inner scrolling.
 *
 * It lives in a shadow root: there CodeMirror's style sheets are constructed objects, which the strict policy of our
 * pages (no inline styles) permits, and a chapter's styles do not reach it.
 */

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyField, historyKeymap, indentWithTab, isolateHistory } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, LanguageSupport } from "@codemirror/language";
import { lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorSelection, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  rectangularSelection,
} from "@codemirror/view";
import { look } from "./look";
import { type Marks, marks, setMarks } from "./marks";
import { phrases } from "./phrases";

export interface EditorOptions {
  host: HTMLElement;
  code: string;
  /** From `Editor.state()` of an earlier page: brings the undo history back. */
  state?: unknown;
  label: string;
  describedBy?: string;
  onChange(): void;
  extensions?: Extension;
}

const HISTORY = { history: historyField };
const MOST_STATE = 400_000;

export class Editor {
  readonly view: EditorView;

  constructor(options: EditorOptions) {
    const { host } = options;
    const shadow = host.shadowRoot ?? host.attachShadow({ mode: "open", delegatesFocus: true });
    shadow.replaceChildren();
    this.view = new EditorView({
      state: restored(options) ?? EditorState.create({ doc: options.code, extensions: extensions(options) }),
      root: shadow,
      parent: shadow,
    });
    Object.defineProperty(host, "value", { get: () => this.code, configurable: true });
  }

  get code(): string {
    return this.view.state.doc.toString();
  }

  /** Replace everything; one undo brings it back. */
  set code(text: string) {
    const { state } = this.view;
    if (state.doc.toString() === text) return;
    this.view.dispatch({
      changes: { from: 0, to: state.doc.length, insert: text },
      selection: EditorSelection.cursor(0),
      annotations: isolateHistory.of("full"),
    });
  }

  insert(text: string): void {
    this.view.dispatch(this.view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    this.view.focus();
  }

  indent(): void {
    const { state } = this.view;
    const { head } = state.selection.main;
    const column = head - state.doc.lineAt(head).from;
    this.insert(" ".repeat(4 - (column % 4)));
  }

  focus(): void {
    this.view.focus();
  }

  /** Lines that ran, or that broke, 1 based. */
  mark(lines: Marks): void {
    this.view.dispatch({ effects: setMarks.of(lines) });
  }

  goTo(line: number): void {
    const { doc } = this.view.state;
    const at = doc.line(Math.min(Math.max(1, line), doc.lines)).from;
    this.view.dispatch({ selection: EditorSelection.cursor(at), scrollIntoView: true });
    this.view.focus();
  }

  /** For the next page: text, selection and undo history; undefined where that would be large. */
  state(): unknown {
    const json = this.view.state.toJSON(HISTORY) as unknown;
    return JSON.stringify(json).length > MOST_STATE ? undefined : json;
  }
}

function restored(options: EditorOptions): EditorState | null {
  if (!options.state) return null;
  try {
    const state = EditorState.fromJSON(options.state, { extensions: extensions(options) }, HISTORY);
    return state.doc.toString() === options.code ? state : null;
  } catch {
    return null; // written by another version, or by somebody else
  }
}

/** The editor's foot stays at the window's lower edge; the cursor's line is kept above it. */
const FOOT_PX = 64;

function extensions(options: EditorOptions): Extension {
  const attributes: Record<string, string> = {
    "aria-label": options.label,
    tabindex: "0",
    spellcheck: "false",
    autocorrect: "off",
    autocapitalize: "off",
    translate: "no",
  };
  return [
    lineNumbers(),
    highlightActiveLineGutter(),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    dropCursor(),
    EditorState.allowMultipleSelections.of(true),
    EditorState.tabSize.of(4),
    indentUnit.of("    "),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    rectangularSelection(),
    EditorView.scrollMargins.of(() => ({ bottom: FOOT_PX })),
    highlightActiveLine(),
    highlightSelectionMatches(),
    search({ top: true }),
    new LanguageSupport(pythonLanguage),
    autocompletion({ icons: false }),
    marks,
    look,
    phrases(),
    EditorView.contentAttributes.of(attributes),
    keymap.of([
      ...closeBracketsKeymap,
      // Ctrl Enter is ours; Escape makes the next Tab leave the editor, whatever is selected.
      ...defaultKeymap.filter((each) => each.key !== "Mod-Enter" && each.key !== "Escape"),
      ...searchKeymap,
      ...historyKeymap,
      ...completionKeymap,
      ...lintKeymap,
      indentWithTab,
    ]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) options.onChange();
    }),
    options.extensions ?? [],
  ];
}
