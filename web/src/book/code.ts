/** Code can be copied without the numbers of its references; what is wider than its place can have the focus. */

export function wideThings(): void {
  const fit = (): void => {
    for (const each of document.querySelectorAll<HTMLElement>(".canvas, .formula, .table-wrapper")) {
      if (each.scrollWidth > each.clientWidth) each.tabIndex = 0; // to be scrolled with the keyboard
      else each.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", fit);
  void document.fonts.ready.then(fit);
  fit();
}

export function codeBlocks(): void {
  document.addEventListener("click", (event) => {
    const button = (event.target as Element).closest<HTMLElement>(".b-copy");
    const pre = button?.closest(".block")?.querySelector("pre")?.cloneNode(true) as HTMLElement | undefined;
    const said = button?.querySelector("span");
    if (!button || !pre || !said) return;
    for (const mark of pre.querySelectorAll(".ref")) mark.remove();
    const before = said.textContent;
    navigator.clipboard?.writeText(pre.textContent ?? "").then(
      () => {
        said.textContent = button.dataset["done"] ?? "";
        setTimeout(() => (said.textContent = before), 1600);
      },
      () => undefined, // the browser refused: the button keeps its word
    );
  });
}
