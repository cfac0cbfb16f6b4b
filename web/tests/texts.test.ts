import { expect, test } from "vitest";
import { candidates, callAt, entryFor, readApi } from "../src/app/editor/api";
import { marked } from "../src/app/desk/samples";
import { ankiText } from "../src/app/lib/anki";
import { halfCharacter } from "../src/app/lib/text";
import { diff, hunks } from "../src/app/lib/diff";

test("a diff counts the lines of both sides", () => {
  const lines = diff("a\nb\nc\n", "a\nx\nc\nd");
  expect(lines.map(({ kind, before, after, text }) => `${kind} ${before} ${after} ${text}`)).toEqual([
    "same 1 1 a",
    "removed 2 null b",
    "added null 2 x",
    "same 3 3 c",
    "added null 4 d",
  ]);
  expect(diff("a", "a\n").every((line) => line.kind === "same")).toBe(true);
  expect(diff("", "")).toEqual([]);
});

test("half a character is found in its line, a whole one is not", () => {
  expect(halfCharacter("a\n😀 中文\n")).toBeNull();
  expect(halfCharacter("a\nb \ud83d\nc")).toBe(2);
  expect(halfCharacter("\ude00\ud83d")).toBe(1);
});

test("hunks leave out what is far from a change, and say so", () => {
  const long = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const shown = hunks(diff(long.join("\n"), long.with(3, "x").with(25, "y").join("\n")), 1);
  expect(shown.filter((line) => line === null)).toHaveLength(1);
  expect(shown[0]?.text).toBe("line 2");
  expect(shown.at(-1)?.text).toBe("line 26");
  expect(hunks(diff("a\nb", "a\nb"))).toEqual([]);
});

test("what differs between expected and got is marked", () => {
  const words = (value: string, other: string | null) => marked(value, other).map((part) => (typeof part === "string" ? part : `<${part.textContent}>`)).join("");
  expect(words("[12, 16, 8]", "[12, 16]")).toBe("[12, 16<, 8>]");
  expect(words("[12, 16]", "[12, 16, 8]")).toBe("[12, 16]");
  expect(words("3", "4")).toBe("3");
  expect(words("a", null)).toBe("a");
});

test("Anki's file has its header lines, a name for each card, and one line a card", () => {
  const cards = [{ key: "08_cache_manager:1", chapter: "08_cache_manager", question: "<p>Why\n\ttwice?</p>", answer: '<pre><code>a = "b"\nc</code></pre>' }];
  const text = ankiText(cards, "Rebuild minisgl");
  expect(text).toBe(ankiText(cards, "Rebuild minisgl"));
  const lines = text.split("\n");
  expect(lines.slice(0, 6)).toEqual(["#separator:tab", "#html:true", "#notetype:Basic", "#deck:Rebuild minisgl", "#guid column:1", "#tags column:4"]);
  expect(lines).toHaveLength(8);
  expect(lines[6]?.split("\t")).toEqual([
    "minisgl:08_cache_manager:1",
    "<p>Why twice?</p>",
    '"<pre><code>a = ""b""<br>c</code></pre>"',
    "minisgl::08_cache_manager",
  ]);
});

const API = [
  { name: "torch.arange", kind: "function", signature: "torch.arange(end)" },
  { name: "Tensor.clone", kind: "method", signature: "clone() -> Tensor" },
  { name: "CacheManager.lock", kind: "method", signature: "lock(handle)" },
];

test("the call at the caret is found through nested calls and strings of commas", () => {
  expect(callAt("x = torch.arange(")).toEqual({ name: "torch.arange", argument: 0 });
  expect(callAt("f(a, g(1, 2), ")).toEqual({ name: "f", argument: 2 });
  expect(callAt("f(a, [1, 2")).toBeNull();
  expect(callAt("f(1)")).toBeNull();
  expect(callAt("(1, ")).toBeNull();
});

test("names complete by what they belong to", () => {
  expect(candidates(API, "torch").map((one) => one.label)).toEqual(["arange"]);
  expect(candidates(API, "row").map((one) => one.label)).toEqual(["clone", "lock"]);
  expect(entryFor(API, "self.lock")?.name).toBe("CacheManager.lock");
  expect(entryFor(API, "nothing")).toBeNull();
  for (const bad of [null, {}, { entries: 3 }, [1, { kind: "x" }]]) expect(readApi(bad)).toEqual([]);
});
