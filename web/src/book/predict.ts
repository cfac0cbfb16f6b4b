/** A prediction: what the reader wrote beside what it is; then the output that shows it is unfolded. */

export function predictions(): void {
  document.addEventListener("submit", (event) => {
    const form = (event.target as Element).closest<HTMLFormElement>("form.predict");
    if (!form) return;
    event.preventDefault();
    compare(form);
  });
}

function compare(form: HTMLFormElement): void {
  const guess = form.querySelector("input")?.value.trim();
  const said = form.querySelector(".p-said");
  if (!guess || !said) return;
  const same = plain(guess) === plain(form.dataset["answer"] ?? "");
  const words = (same ? form.dataset["right"] : form.dataset["other"]) ?? "";
  said.textContent = words.replace("{guess}", guess);
  said.className = `p-said ${same ? "right" : "other"}`;
  let after = form.nextElementSibling;
  while (after && !/^H[1-3]$/.test(after.tagName)) {
    if (after.matches("details.reveal")) {
      after.setAttribute("open", "");
      break;
    }
    after = after.nextElementSibling;
  }
}

/** Blanks, full-width digits and commas do not make another answer. */
function plain(text: string): string {
  return text.normalize("NFKC").replace(/[\s,]/g, "").toLowerCase();
}
