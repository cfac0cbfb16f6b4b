/** The run as a list of sentences, made when it is opened, some hundred at a time. */

import { h } from "../dom";
import type { History } from "../history";
import type { BaseState, Context } from "../types";

const PART = 200;

/** What a state says, what is wrong with it included. */
export function sentence(state: BaseState, context: Context): string {
  const said = [...(state.note ? [state.note] : []), ...state.alerts];
  return said.map((one) => context.say(one)).join(context.lang === "zh" ? "" : " ");
}

export function textOf<S extends BaseState>(history: History<S>, context: Context): HTMLDetailsElement {
  const list = h("ol");
  const more = h("button", { type: "button", hidden: true }, context.word("player_more"));
  const details = h("details", { class: "as-text" }, h("summary", {}, context.word("player_as_text")), list, more);
  let next = 0;
  const add = (): void => {
    const states = history.walk(next);
    for (const until = next + PART; next < until; next += 1) {
      const state = states.next();
      if (state.done) break;
      const bad = state.value.alerts.length > 0;
      list.append(h("li", { "data-step": next, class: bad ? "bad" : undefined }, sentence(state.value, context)));
    }
    more.hidden = next >= history.steps.length;
  };
  details.addEventListener("toggle", () => {
    if (details.open && next === 0) add();
  });
  more.addEventListener("click", add);
  return details;
}
