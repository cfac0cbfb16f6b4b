/** Whole lines in a colour: what ran at this step, what broke. They go when the text changes. */

import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

export interface Marks {
  ran?: readonly number[];
  broke?: readonly number[];
}

export const setMarks = StateEffect.define<Marks>();

export const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(before, transaction) {
    let after = transaction.docChanged ? Decoration.none : before;
    for (const effect of transaction.effects) {
      if (!effect.is(setMarks)) continue;
      const { doc } = transaction.state;
      const lines = (numbers: readonly number[] | undefined, name: string) =>
        (numbers ?? [])
          .filter((line) => line >= 1 && line <= doc.lines)
          .map((line) => Decoration.line({ class: name }).range(doc.line(line).from));
      after = Decoration.set([...lines(effect.value.ran, "ran"), ...lines(effect.value.broke, "broke")], true);
    }
    return after;
  },
  provide: (field) => EditorView.decorations.from(field),
});
