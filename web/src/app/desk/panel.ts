/** Below the editor's head: the history of the code, and what differs from another state of it. */

import { clock, h, icon } from "../dom";
import { diff, hunks } from "../lib/diff";
import type { Kept } from "../store/tables";
import { t } from "../words";

/** What changed from `before` to `after`, as a list of lines that a screen reader can follow. */
export function diffView(before: string, after: string): HTMLElement {
  const shown = hunks(diff(before, after));
  if (!shown.length) return h("p", { class: "small" }, t("diff_same"));
  return h(
    "div",
    { class: "diff-lines code", tabindex: "0", role: "region", "aria-label": t("diff_label") },
    shown.map((line) =>
      line === null
        ? h("div", { class: "gap" }, "⋯")
        : h(
            "div",
            { class: line.kind },
            h("span", { class: "no num", "aria-hidden": "true" }, String(line.after ?? line.before ?? "")),
            h("span", { class: "sign", "aria-hidden": "true" }, line.kind === "added" ? "+" : line.kind === "removed" ? "−" : " "),
            line.kind === "same" ? null : h("span", { class: "vh" }, t(`diff_${line.kind}`)),
            line.text || " ",
          ),
    ),
  );
}

export class Panel {
  private shows: HTMLButtonElement | null = null;

  constructor(private readonly box: HTMLElement) {}

  /** Open with `content` for `button`, or close if it is open for that. */
  toggle(button: HTMLButtonElement, content: () => (Node | string)[]): void {
    const was = this.shows;
    this.close();
    if (was === button) return;
    this.shows = button;
    button.setAttribute("aria-expanded", "true");
    const close = h("button", { class: "btn plain", type: "button", click: () => (this.close(), button.focus()) }, icon("cross"), t("close"));
    this.box.replaceChildren(...content(), h("p", { class: "acts" }, close));
    this.box.hidden = false;
  }

  close(): void {
    this.shows?.removeAttribute("aria-expanded");
    this.shows = null;
    this.box.hidden = true;
    this.box.replaceChildren();
  }
}

/** One line for each kept state, with what putting it back would change. */
export function historyList(kept: Kept[], code: string, take: (one: Kept) => void): Node[] {
  if (!kept.length) return [h("p", { class: "small" }, t("history_none"))];
  return [
    h("p", { class: "small" }, t("history_text")),
    h(
      "ol",
      { class: "kept" },
      kept.map((one) =>
        h(
          "li",
          {},
          h(
            "details",
            {},
            h("summary", {}, h("span", { class: "num" }, clock(one.at)), ` · ${t(`kept_${one.why}`)}`),
            diffView(code, one.code),
            h("p", { class: "acts" }, h("button", { class: "btn", type: "button", click: () => take(one) }, t("use_code"))),
          ),
        ),
      ),
    ),
  ];
}
