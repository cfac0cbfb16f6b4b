/** The states of a run: each is a pure fold over the events before it, kept at some steps to be quick. */

import type { Animation, BaseState, Step, TraceEvent } from "./types";

const EVERY = 64;

export class History<S extends BaseState> {
  readonly steps: Step[];
  private kept: S[] = [];

  constructor(
    private readonly animation: Animation<S>,
    readonly events: readonly TraceEvent[],
  ) {
    this.steps = animation.steps(events);
  }

  /** The state after step `k`. The caller may keep it, but not change it. */
  at(k: number): S {
    const last = this.steps.length - 1;
    const step = Math.max(0, Math.min(k, last));
    let index = Math.min(Math.floor(step / EVERY), this.kept.length - 1);
    let state: S;
    if (index < 0) {
      state = this.animation.start(this.events);
      this.kept.push(structuredClone(state));
      index = 0;
    } else {
      state = structuredClone(this.kept[index] as S);
    }
    // kept[i] is the state before step i * EVERY
    for (let i = index * EVERY; i <= step && i <= last; i += 1) {
      if (i % EVERY === 0 && i / EVERY === this.kept.length) this.kept.push(structuredClone(state));
      play(this.animation, state, this.events, this.steps[i] as Step);
    }
    return state;
  }

  /** All states from step `from` on, one after the other, in the same object. */
  *walk(from: number): Generator<S> {
    const state = from > 0 ? this.at(from - 1) : this.animation.start(this.events);
    for (const step of this.steps.slice(from)) {
      play(this.animation, state, this.events, step);
      yield state;
    }
  }
}

function play<S extends BaseState>(animation: Animation<S>, state: S, events: readonly TraceEvent[], step: Step): void {
  state.note = null;
  state.alerts = [];
  animation.begin(state);
  for (let i = step.from; i < step.to; i += 1) animation.apply(state, events[i] as TraceEvent, i, events);
  animation.end?.(state, step);
}

/** The state after step `k`, from the beginning and without anything kept: what `History.at` must equal. */
export function fold<S extends BaseState>(animation: Animation<S>, events: readonly TraceEvent[], k: number): S {
  const state = animation.start(events);
  animation
    .steps(events)
    .slice(0, k + 1)
    .forEach((step) => play(animation, state, events, step));
  return state;
}
