/**
 * When a card comes again: SM-2, as Wozniak published it, with one change: a card that was forgotten comes again the
 * same day until it is known, and then starts over at one day.
 *
 * Intervals are 1 day, 6 days, then the last one times `ease`. `ease` begins at 2.5, grows by 0.1 with an easy answer,
 * falls by 0.14 with a hard one and by 0.2 with a forgotten one, and is never below 1.3.
 */

import type { CardState } from "../store/tables";
import { addDays } from "./days";

export type Answer = "again" | "hard" | "good" | "easy";

const EASE = { again: -0.2, hard: -0.14, good: 0, easy: 0.1 } as const;
const LEAST_EASE = 1.3;
const MOST_DAYS = 365;

export const fresh = (key: string, today: string): CardState => ({
  key,
  due: today,
  interval: 0,
  ease: 2.5,
  reps: 0,
  lapses: 0,
  last: "",
});

/** The card after an answer given on `today`. */
export function answered(card: CardState, answer: Answer, today: string): CardState {
  const ease = Math.max(LEAST_EASE, Math.round((card.ease + EASE[answer]) * 100) / 100);
  if (answer === "again") {
    return { ...card, ease, interval: 0, reps: 0, lapses: card.lapses + (card.reps > 0 ? 1 : 0), due: today, last: today };
  }
  const reps = card.reps + 1;
  const usual = reps === 1 ? 1 : reps === 2 ? 6 : Math.round(card.interval * ease);
  const hard = Math.max(1, Math.round(card.interval * 1.2));
  const easy = reps === 1 ? 4 : Math.round(usual * 1.3);
  const interval = Math.min(MOST_DAYS, answer === "hard" ? Math.min(usual, hard) : answer === "easy" ? easy : usual);
  return { ...card, ease, reps, interval, due: addDays(today, interval), last: today };
}

/**
 * Which cards are to be asked on `today`: those due, oldest first, then at most `most` new ones. One that was answered
 * after today is due as well: the clock ran ahead then, and its day would come only when the clock's mistake does.
 */
export function queue(keys: readonly string[], states: ReadonlyMap<string, CardState>, today: string, most: number): string[] {
  const due = keys.filter((key) => {
    const state = states.get(key);
    return state !== undefined && (state.due <= today || state.last > today);
  });
  due.sort((a, b) => (states.get(a)?.due ?? "").localeCompare(states.get(b)?.due ?? ""));
  const begun = [...states.values()].filter((state) => state.reps + state.lapses > 0 && state.last === today && state.interval <= 4).length;
  const unseen = keys.filter((key) => !states.has(key)).slice(0, Math.max(0, most - begun));
  return [...due, ...unseen];
}
