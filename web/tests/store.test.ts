import "fake-indexeddb/auto";
import { beforeEach, expect, test } from "vitest";
import { exported, forget, merge, MOST_MB, NotImported, readChosen, readFile, VERSION } from "../src/app/lib/exchange";
import { MemoryStore, openStore, type Store } from "../src/app/store/database";
import { asDraft, DraftKeeper } from "../src/app/store/draft";
import { history, remember } from "../src/app/store/history";
import { note, noteVerdict, standings } from "../src/app/store/progress";

let store: Store;

beforeEach(async () => {
  localStorage.clear();
  store = await openStore();
  await forget(store);
});

const keeper = (): DraftKeeper => new DraftKeeper(store, "ex:192", () => {});

test("a draft comes back with its undo history", async () => {
  const first = keeper();
  expect(await first.load()).toBeNull();
  expect(await first.save("one", () => ({ history: 1 }))).toBe(true);
  expect(await keeper().load()).toMatchObject({ code: "one", state: { history: 1 } });
});

test("what was written before the page went is there, even if the database never heard of it", async () => {
  const first = keeper();
  await first.save("old");
  void first.save("new");
  const journal = JSON.parse(localStorage.getItem("minisgl:draft:ex:192") ?? "");
  expect(journal.code).toBe("new");
  await first.settled();
  await store.put("drafts", { key: "ex:192", code: "old", at: 1, rev: "x" });
  expect(await keeper().load()).toMatchObject({ code: "new" });
});

test("what a window would overwrite without having seen it goes to the history", async () => {
  const [left, right] = [keeper(), keeper()];
  await left.save("start");
  await left.load();
  await right.load();
  await right.save("right");
  await left.save("left");
  expect((await store.get("drafts", "ex:192"))?.code).toBe("left");
  expect((await history(store, "ex:192")).map((one) => [one.code, one.why])).toEqual([["right", "other"]]);
  left.seen({ code: "right", at: 0, rev: (await store.get("drafts", "ex:192"))?.rev ?? "" });
  await left.save("left 2");
  expect(await history(store, "ex:192")).toHaveLength(1);
});

test("a clock that was set back does not make what is typed now look older", async () => {
  const future = Date.now() + 1e9;
  await store.put("drafts", { key: "ex:192", code: "then", at: future, rev: "x" });
  const now = keeper();
  await now.load();
  void now.save("now");
  expect(JSON.parse(localStorage.getItem("minisgl:draft:ex:192") ?? "").at).toBe(future + 1);
  await now.settled();
  await store.put("drafts", { key: "ex:192", code: "then", at: future, rev: "x" });
  expect(await keeper().load()).toMatchObject({ code: "now" });
});

test("whatever stands in the storage is no draft unless it is one", () => {
  for (const value of [null, 5, [], {}, { code: 5, at: 1, rev: "x" }, { code: "a", at: "1", rev: "x" }, { code: "a", at: Number.NaN, rev: "x" }]) {
    expect(asDraft(value, "k")).toBeNull();
  }
  expect(asDraft({ code: "a", at: 1, rev: "x", more: 1 }, "k")).toEqual({ key: "k", code: "a", at: 1, rev: "x" });
});

test("the history keeps fifty and nothing twice in a row", async () => {
  for (let at = 0; at < 60; at += 1) await remember(store, "d", `code ${at}`, "over");
  await remember(store, "d", "code 59", "over");
  await remember(store, "d", "  \n", "over");
  expect(await history(store, "d")).toHaveLength(50);
});

test("a pass is never taken back", async () => {
  await noteVerdict(store, 192, "SE");
  expect((await standings(store)).size).toBe(0);
  await noteVerdict(store, 192, "WA", "wrong");
  await noteVerdict(store, 192, "AC", "right");
  await noteVerdict(store, 192, "WA", "wrong");
  await note(store, 192, "tried");
  expect((await standings(store)).get(192)).toMatchObject({ state: "accepted", code: "right" });
});

test("progress goes out and comes in again", async () => {
  await noteVerdict(store, 192, "AC", "right");
  await keeper().save("mine");
  const text = await exported(store, "2026-01-01T00:00:00Z");
  expect(text).toBe(await exported(store, "2026-01-01T00:00:00Z"));
  localStorage.clear(); // another device
  const other = new MemoryStore();
  expect(await merge(other, readFile(text))).toBe(2);
  expect(await merge(other, readFile(text))).toBe(0);
  expect((await standings(other)).get(192)?.code).toBe("right");
});

test("an import merges: the further state, the newer draft, and the other draft in the history", async () => {
  const other = new MemoryStore();
  await note(other, 192, "tried");
  await note(other, 176, "accepted");
  await other.put("drafts", { key: "ex:192", code: "theirs", at: 5, rev: "t" });
  await noteVerdict(store, 192, "AC", "right");
  await store.put("drafts", { key: "ex:192", code: "mine", at: 9, rev: "m" });
  await merge(store, readFile(await exported(other, "")));
  const known = await standings(store);
  expect([known.get(192)?.state, known.get(176)?.state]).toEqual(["accepted", "accepted"]);
  expect((await store.get("drafts", "ex:192"))?.code).toBe("mine");
  expect((await history(store, "ex:192")).map((one) => one.code)).toEqual(["theirs"]);
});

test("a file of another kind, a newer or a damaged one is refused, and nothing is touched", () => {
  const why = (text: string): string => {
    try {
      readFile(text);
    } catch (error) {
      return (error as NotImported).why;
    }
    return "read";
  };
  const file = (over: object, tables: object = {}): string => JSON.stringify({ kind: "minisgl-progress", version: VERSION, at: "", tables, ...over });
  expect(why("")).toBe("foreign");
  expect(why("[]")).toBe("foreign");
  expect(why(file({ kind: "other" }))).toBe("foreign");
  expect(why(file({ version: VERSION + 1 }))).toBe("newer");
  expect(why(file({ tables: null }))).toBe("damaged");
  for (const bad of [
    { drafts: {} },
    { drafts: [{ key: "a", code: 1, at: 1, rev: "x" }] },
    { progress: [{ key: "1", exercise: 2, at: 1, state: "accepted" }] },
    { progress: [{ key: "2", exercise: 2, at: 1, state: "done" }] },
    { cards: [{ key: "a", due: "tomorrow", last: "", interval: 0, ease: 2.5, reps: 0, lapses: 0 }] },
    { cards: [{ key: "a", due: "2026-99-99", last: "", interval: 0, ease: 2.5, reps: 0, lapses: 0 }] },
    { cards: [{ key: "a", due: "2026-02-30", last: "", interval: 0, ease: 2.5, reps: 0, lapses: 0 }] },
    { drafts: [{ key: "a", code: "", at: 1e300, rev: "x" }] },
    { tries: [{ key: "a" }] },
    { tries: [{ key: "192:1", exercise: 192, id: 1, at: 1, score: 0, code: "", verdict: "ZZ" }] },
    { history: [{ key: "a", draft: "d", code: "c", at: 1, why: "<b>" }] },
  ]) {
    expect(why(file({}, bad)), JSON.stringify(bad)).toBe("damaged");
  }
  expect(why(file({}))).toBe("read");
});

test("a file too large to be ours is called that, and is not read", async () => {
  const size = MOST_MB * 2 ** 20;
  const never = { size: size + 1, text: () => Promise.reject(new Error("was read")) };
  await expect(readChosen(never)).rejects.toMatchObject({ why: "large" });
  await expect(readChosen({ size, text: () => Promise.resolve("[]") })).rejects.toMatchObject({ why: "foreign" });
});
