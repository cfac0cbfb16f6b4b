// A classic script in the head, before the page is painted, so that a forced theme does not flash.
{
  const root = document.documentElement;
  const stored = (): string => {
    try {
      return localStorage.getItem("theme") ?? "auto";
    } catch {
      return "auto"; // a private window keeps nothing
    }
  };
  const show = (name: string): void => {
    if (name === "light" || name === "dark") root.dataset["theme"] = name;
    else delete root.dataset["theme"];
    for (const button of document.querySelectorAll<HTMLElement>(".theme button")) {
      button.setAttribute("aria-pressed", String(button.dataset["set"] === name));
    }
  };
  show(stored());
  document.addEventListener("DOMContentLoaded", () => {
    show(stored());
    document.addEventListener("click", (event) => {
      const button = (event.target as Element).closest<HTMLElement>(".theme button");
      const name = button?.dataset["set"];
      if (!name) return;
      try {
        localStorage.setItem("theme", name);
      } catch {
        // It holds until the next page.
      }
      show(name);
    });
  });
  addEventListener("storage", (event) => {
    if (event.key === "theme") show(stored());
  });
}
