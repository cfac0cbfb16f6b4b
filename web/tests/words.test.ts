import { expect, test } from "vitest";
import { singular } from "../src/book/singular";
import { t, useWords } from "../src/app/words";
import { asksForModel } from "../src/runner/model";

test("one of a thing is said in the singular, in English", () => {
  useWords("en", { ran: "Line {line} ran {hits} times.", has: "Line {line} has {n} tokens and {lines} lines" });
  expect(t("ran", { line: 1, hits: 1 })).toBe("Line 1 ran 1 time.");
  expect(t("ran", { line: 1, hits: 21 })).toBe("Line 1 ran 21 times.");
  expect(t("has", { line: 1, n: 1, lines: 1 })).toBe("Line 1 has 1 token and 1 line");
  useWords("zh", { ran: "第 {line} 行执行了 {hits} 次。" });
  expect(t("ran", { line: 1, hits: 1 })).toBe("第 1 行执行了 1 次。");
});

test("an animation counts one in the singular, too, whichever number of a sentence it is", () => {
  expect(singular("a page has {size} tokens", { size: 1 })).toBe("a page has {size} token");
  expect(singular("the upper {upper} tokens are shared, {n} locks", { upper: 1, n: 2 })).toBe("the upper {upper} token is shared, {n} locks");
});

test("the model is loaded for code that may use it, and for no other", () => {
  for (const code of ["from minisgl.llm import LLM", "import minisgl.engine", "from minisgl import models", "from minisgl.scheduler import Scheduler"]) {
    expect(asksForModel(code), code).toBe(true);
  }
  for (const code of ["print(1)", "model = 5", "import minisgl", "from minisgl.scheduler.cache import CacheManager"]) {
    expect(asksForModel(code), code).toBe(false);
  }
});
