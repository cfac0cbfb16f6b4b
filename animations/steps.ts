/** Cuts a trace into steps. */

import type { Step, TraceEvent } from "./types";

/**
 * What an event does to the steps: `ends` closes the step that is open, so that it has all events since the last
 * one was closed; `joins` leaves it open; `opens` closes the one before it; `alone` is a step by itself; `after`
 * belongs to the step before, if none is open.
 */
export type Cut = "ends" | "joins" | "opens" | "alone" | "after";

/** With these the learner's function begins anew, even for the same request. */
const FIRST_OF_CALL = new Set(["insert", "match", "split"]);

/** Cut by a rule, which is asked about each event once, in order. */
export function cutSteps(events: readonly TraceEvent[], rule: (event: TraceEvent) => Cut): Step[] {
  const steps: Step[] = [];
  let from = 0;
  const close = (to: number): void => {
    if (to > from) steps.push({ from, to, kind: (events[to - 1] as TraceEvent).type });
    from = to;
  };
  events.forEach((event, i) => {
    const cut = rule(event);
    // what the learner's code does is always a step of its own
    if (cut === "opens" || cut === "alone") close(i);
    if (cut === "ends" || cut === "alone" || typeof event.line === "number") close(i + 1);
    else if (cut === "after" && from === i && steps.length > 0) (steps[steps.length - 1] as Step).to = from = i + 1;
  });
  close(events.length);
  return numberCalls(events, steps);
}

/** A last step without events, for what is to be said at the end. */
export function withEnd(events: readonly TraceEvent[], steps: Step[]): Step[] {
  if (events.length > 0) steps.push({ from: events.length, to: events.length, kind: "end" });
  return steps;
}

/**
 * Mark the steps that the learner's function caused, and number its calls. A change of the request's row is seen
 * without a line: between two steps of a call it belongs to the call.
 */
function numberCalls(events: readonly TraceEvent[], steps: Step[]): Step[] {
  let calls = 0;
  let last: { step: number; req: number | undefined } | null = null;
  steps.forEach((step, i) => {
    const event = events.slice(step.from, step.to).find((one) => typeof one.line === "number");
    const follows = last !== null && last.step === i - 1;
    if (!event) {
      const first = events[step.from];
      if (follows && first?.type === "page_table_write" && first.req === last?.req) {
        last = { step: i, req: first.req };
        step.call = calls;
      }
      return;
    }
    if (!follows || last?.req !== event.req || FIRST_OF_CALL.has(event.type)) calls += 1;
    last = { step: i, req: event.req };
    step.line = event.line;
    step.call = calls;
  });
  return steps;
}
