/** What an animation is made of. */

/** An event of `minisgl.utils.trace`; the fields beyond these depend on the type (`trace.schema.json`). */
export interface TraceEvent {
  v: number;
  seq: number;
  t: number;
  type: string;
  req?: number;
  line?: number;
  [field: string]: unknown;
}

/** What happened, as the catalogue's key and the values for its placeholders. */
export interface Note {
  key: string;
  values: Record<string, string | number | (string | number)[]>;
}

/** Consecutive events that are shown together: `events[from]` up to, not including, `events[to]`. */
export interface Step {
  from: number;
  to: number;
  kind: string;
  /** Line of the learner's file that caused it. */
  line?: number;
  /** Which call of the learner's function, from 1. */
  call?: number;
}

/** What every state has; plain data, so that it can be copied and compared. */
export interface BaseState {
  note: Note | null;
  /** What is wrong at this step: a page without an owner, a page freed twice. */
  alerts: Note[];
}

export interface Context {
  lang: "zh" | "en";
  say(note: Note): string;
  /** A word or sentence without values. */
  word(key: string): string;
}

export interface View<S> {
  /** Called with each state of a run that is not too long, before the first is shown: to keep room for the largest. */
  survey?(state: S): void;
  update(state: S, step: Step): void;
  /** The room has changed. */
  resize?(): void;
}

export interface Animation<S extends BaseState> {
  name: string;
  /** The state before the first event; it may look ahead, at how large the pool is. */
  start(events: readonly TraceEvent[]): S;
  /** Forget what belongs to one step only. */
  begin(state: S): void;
  /** Change the state as `events[index]` says. Types that it does not know change nothing. */
  apply(state: S, event: TraceEvent, index: number, events: readonly TraceEvent[]): void;
  /** After the last event of a step. */
  end?(state: S, step: Step): void;
  steps(events: readonly TraceEvent[]): Step[];
  view(stage: HTMLElement, events: readonly TraceEvent[], context: Context): View<S>;
  css: string;
}
