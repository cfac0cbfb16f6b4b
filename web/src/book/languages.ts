/** The switch of language goes to the section that is being read, where the other language has it. */

import { currentSection } from "./rail.js";

export function languages(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>(".langs a[data-ids]")) {
    const ids = new Set(link.dataset["ids"]?.split(" "));
    link.addEventListener("click", () => {
      const asked = decodeURIComponent(location.hash.slice(1));
      const here = currentSection() ?? asked;
      const id = ids.has(here) ? here : asked;
      link.hash = ids.has(id) ? id : "";
    });
  }
}
