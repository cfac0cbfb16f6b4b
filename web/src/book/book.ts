/** What a page of the book does beyond being read; everything in it can be read without this. */

import { codeBlocks, wideThings } from "./code.js";
import { languages } from "./languages.js";
import { predictions } from "./predict.js";
import { rail } from "./rail.js";
import { selfTests } from "./selftest.js";
import { standing } from "./standing.js";
import { terms } from "./terms.js";

codeBlocks();
wideThings();
languages();
predictions();
rail();
selfTests();
terms();
void standing();

if (matchMedia("(max-width: 900px)").matches) document.querySelector(".side-fold")?.removeAttribute("open");
document.querySelector(".side .here")?.scrollIntoView({ block: "nearest" });

// The search comes with its index when it is asked for, and not before.
const find = document.querySelector<HTMLButtonElement>(".find");
const dialog = document.querySelector<HTMLDialogElement>("dialog.search");
if (find && dialog) {
  find.hidden = false;
  const open = async (): Promise<void> => {
    if (!dialog.open) dialog.showModal(); // at once: whoever types does not wait for scripts
    dialog.querySelector("input")?.select();
    (await import("./search.js")).begin();
  };
  find.addEventListener("click", () => void open());
  addEventListener("keydown", (event) => {
    const typing = (event.target as Element).closest("input, textarea, select, [contenteditable='true'], .cm-editor");
    const asked = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
    const control = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
    if (!asked && !control) return;
    event.preventDefault();
    void open();
  });
}

// On paper everything stands open, and is closed again afterwards.
const opened: HTMLDetailsElement[] = [];
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll<HTMLDetailsElement>("article details:not([open])")) {
    details.open = true;
    opened.push(details);
  }
});
addEventListener("afterprint", () => {
  for (const details of opened.splice(0)) details.open = false;
});
