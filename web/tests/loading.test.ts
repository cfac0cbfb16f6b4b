import { expect, test } from "vitest";
import type { Loading } from "../src/app/loading";
import { sayState } from "../src/app/loading";
import { useWords } from "../src/app/words";

const WORDS = {
  loading: "ready: {step} {percent} %",
  loading_python: "interpreter",
  loading_engine: "engine",
  loading_model: "model",
  heard_python: "Python: {percent} %",
  heard_model: "model: {percent} %",
};
const at = (step: Loading["step"], loaded: number): Loading => ({ phase: "loading", step, loaded, total: 1000 });

/** What changes in the status line outside of what is hidden from a screen reader. */
function heardOf(status: HTMLElement): string {
  const copy = status.cloneNode(true) as HTMLElement;
  for (const hidden of copy.querySelectorAll("[aria-hidden]")) hidden.remove();
  return copy.textContent ?? "";
}

test("every percent is seen; start, half and end are heard", () => {
  useWords("en", WORDS);
  const status = document.createElement("p");
  const seen: string[] = [];
  const heard: string[] = [];
  const states = [...Array.from({ length: 101 }, (_, i) => at("python", 10 * i)), at("engine", 1000), at("model", 0), at("model", 499), at("model", 700)];
  let region: Node | null = null;
  for (const state of states) {
    sayState(status, state, "running");
    seen.push(status.querySelector("[aria-hidden]")?.textContent ?? "");
    const now = heardOf(status);
    if (now !== heard.at(-1)) heard.push(now);
    const node = status.querySelector(".vh");
    region ??= node;
    expect(node).toBe(region); // an element put there anew would be read again
  }
  expect(new Set(seen).size).toBe(101 + 1 + 3);
  expect(heard).toEqual(["Python: 0 %", "Python: 50 %", "Python: 100 %", "model: 0 %", "model: 50 %"]);
  sayState(status, { phase: "busy", what: "run" }, "running");
  expect(status.textContent).toBe("running");
  sayState(status, { phase: "ready", coldSeconds: 1 }, "running");
  expect(status.textContent).toBe("running");
  sayState(status, { phase: "failed", message: { zh: "没有", en: "gone" } }, "running");
  expect(status.textContent).toBe("gone");
});
