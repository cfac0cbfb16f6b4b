/**
 * Definitions of terms beside them: on hover, on focus, and under a finger at the first touch.
 *
 * A definition can be hovered itself, stays while it is, and goes with Escape (WCAG 1.4.13). A screen reader
 * reads it as the link's description; without this script the link leads to the glossary.
 */

const SHOW_MS = 120;
const HIDE_MS = 200;

export function terms(): void {
  if (!("popover" in HTMLElement.prototype)) return;
  let open: HTMLElement | null = null;
  let at: HTMLElement | null = null;
  let waiting = 0;
  let touched = false;

  const hide = (): void => {
    clearTimeout(waiting);
    if (open?.matches(":popover-open")) open.hidePopover();
    open = null;
  };
  const show = (link: HTMLElement): void => {
    clearTimeout(waiting);
    const tip = document.getElementById(`term-${link.dataset["term"]}`);
    if (!tip || tip === open) return;
    hide();
    tip.showPopover();
    place(tip, link);
    [open, at] = [tip, link];
  };
  const later = (action: () => void, ms: number): void => {
    clearTimeout(waiting);
    waiting = setTimeout(action, ms);
  };

  for (const link of document.querySelectorAll<HTMLElement>("a.term")) {
    link.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "mouse") later(() => show(link), SHOW_MS);
    });
    link.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") later(hide, HIDE_MS);
    });
    link.addEventListener("pointerdown", (event) => (touched = event.pointerType !== "mouse"));
    link.addEventListener("focus", () => show(link));
    link.addEventListener("blur", () => later(hide, HIDE_MS));
    link.addEventListener("click", (event) => {
      const tip = document.getElementById(`term-${link.dataset["term"]}`);
      if (!touched || link.dataset["shown"]) return;
      event.preventDefault(); // the first touch shows, the second one follows the link
      link.dataset["shown"] = "yes";
      if (tip) show(link);
    });
  }
  for (const tip of document.querySelectorAll<HTMLElement>(".defs [popover]")) {
    tip.addEventListener("pointerenter", () => clearTimeout(waiting));
    tip.addEventListener("pointerleave", () => later(hide, HIDE_MS));
  }
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!(event.target as Element).closest("a.term, .defs [popover]")) hide();
  });
  const follow = (): void => {
    if (!open || !at) return;
    const { bottom, top } = at.getBoundingClientRect();
    if (bottom < 0 || top > innerHeight) hide();
    else place(open, at);
  };
  addEventListener("scroll", follow, { passive: true });
}

/** Below the term, above it where there is no room, inside the window. */
function place(tip: HTMLElement, link: HTMLElement): void {
  const at = link.getClientRects()[0];
  if (!at) return;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - width - 8));
  const below = at.bottom + 6;
  const top = below + height > innerHeight ? Math.max(8, at.top - height - 6) : below;
  tip.style.left = `${left}px`;
  tip.style.top = `${top}px`;
}
