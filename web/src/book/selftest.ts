/** Self-test questions: whether one had the answer, kept on this device. */

import { memory, word } from "./words.js";

const PAGE = location.pathname.split("/").at(-1) ?? "";

export function selfTests(): void {
  document.querySelectorAll<HTMLDetailsElement>("details.ask").forEach((ask, number) => {
    const key = `asked:${PAGE}:${number}`;
    const line = document.createElement("p");
    line.className = "know";
    const label = document.createElement("span");
    label.textContent = word("know_ask");
    const said = document.createElement("span");
    said.className = "k-said small";
    const buttons = (["yes", "no"] as const).map((answer) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "btn";
      button.textContent = word(`know_${answer}`);
      button.addEventListener("click", () => {
        memory.set(key, answer);
        show(answer);
      });
      return [answer, button] as const;
    });
    const show = (answer: string | null): void => {
      for (const [each, button] of buttons) button.setAttribute("aria-pressed", String(each === answer));
      said.textContent = answer ? word(`know_said_${answer}`) : "";
      ask.dataset["known"] = answer ?? "";
    };
    line.append(label, ...buttons.map(([, button]) => button));
    ask.append(line);
    ask.querySelector("summary")?.append(said);
    show(memory.get(key));
  });
}
