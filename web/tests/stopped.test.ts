import { expect, test } from "vitest";
import { stoppedWords } from "../src/app/desk/samples";
import { useWords } from "../src/app/words";

test("what was stopped says after how long, where, and how often that line ran, as far as it is known", () => {
  useWords("en", { stopped_time: "after {seconds} s", stopped_time_at: "after {seconds} s, line {line}", stopped_time_line: "after {seconds} s, line {line}, {hits} times" });
  const after = (line: number | null, hits: number | null): string => stoppedWords({ why: "time", seconds: 5, line, hits });
  expect(after(null, null)).toBe("after 5 s");
  expect(after(3, null)).toBe("after 5 s, line 3");
  expect(after(3, 1_204_331)).toBe("after 5 s, line 3, 1,204,331 times");
});
