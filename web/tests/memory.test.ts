import { expect, test } from "vitest";
import { addDays, dayOf } from "../src/app/lib/days";
import { answered, fresh, queue } from "../src/app/lib/memory";

const TODAY = "2026-03-28";

test("a card that is known comes after 1, 6, then ever more days", () => {
  let card = fresh("a", TODAY);
  const seen: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    card = answered(card, "good", card.due);
    seen.push(card.interval);
  }
  expect(seen).toEqual([1, 6, 15, 38, 95]);
  expect(card.ease).toBe(2.5);
});

test("forgotten comes again today and starts over; ease is never below 1.3", () => {
  let card = answered(answered(fresh("a", TODAY), "good", TODAY), "good", "2026-03-29");
  card = answered(card, "again", "2026-04-04");
  expect(card).toMatchObject({ due: "2026-04-04", interval: 0, reps: 0, lapses: 1, ease: 2.3 });
  for (let round = 0; round < 20; round += 1) card = answered(card, "again", TODAY);
  expect(card.ease).toBe(1.3);
  expect(card.lapses).toBe(1);
  expect(answered(card, "good", TODAY).due).toBe("2026-03-29");
});

test("barely is sooner, easily later than known, and none is beyond a year", () => {
  const base = { ...fresh("a", TODAY), reps: 3, interval: 20 };
  const days = (["hard", "good", "easy"] as const).map((answer) => answered(base, answer, TODAY).interval);
  expect(days).toEqual([24, 50, 68]);
  expect(answered({ ...base, interval: 300 }, "easy", TODAY).interval).toBe(365);
});

test("days are local, and a day with a clock change is one day", () => {
  expect(dayOf(new Date(2026, 2, 29, 0, 5))).toBe("2026-03-29");
  expect(dayOf(new Date(2026, 2, 28, 23, 55))).toBe("2026-03-28");
  expect(addDays("2026-03-28", 1)).toBe("2026-03-29");
  expect(addDays("2026-03-29", 1)).toBe("2026-03-30");
  expect(addDays("2026-12-31", 1)).toBe("2027-01-01");
  expect(addDays("2024-02-28", 1)).toBe("2024-02-29");
});

test("due cards come first, the longest overdue before the rest, then a few new ones", () => {
  const states = new Map([
    ["late", { ...fresh("late", "2026-03-01"), reps: 1, interval: 9 }],
    ["now", { ...fresh("now", TODAY), reps: 1, interval: 9 }],
    ["later", { ...fresh("later", "2026-04-01"), reps: 1, interval: 9 }],
  ]);
  expect(queue(["x", "now", "late", "later", "y", "z"], states, TODAY, 2)).toEqual(["late", "now", "x", "y"]);
  expect(queue([], states, TODAY, 2)).toEqual([]);
});

test("a card that was answered on a day still to come is due: the clock ran ahead", () => {
  const states = new Map([["a", answered(fresh("a", "2036-03-28"), "good", "2036-03-28")]]);
  expect(queue(["a"], states, TODAY, 2)).toEqual(["a"]);
  expect(answered(states.get("a")!, "good", TODAY)).toMatchObject({ due: "2026-04-03", last: TODAY });
});

test("the number of new cards is for the day, not for the visit", () => {
  const states = new Map([["a", answered(fresh("a", TODAY), "good", TODAY)]]);
  expect(queue(["a", "b", "c"], states, TODAY, 2)).toEqual(["b"]);
});
