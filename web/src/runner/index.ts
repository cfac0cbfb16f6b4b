/** Python in the tab, as pages use it: see types.ts. */
import { AssetsMissing, fetchManifest } from "./assets";
import { type Call, GENERATE_S, generateCall, RUN_S, runCall, SAMPLES_S, samplesCall } from "./calls";
import * as decode from "./decode";
import { LostTask, Session } from "./session";
import {
  type GenerateReport,
  type GenerateRequest,
  type LintItem,
  type Runner,
  RunnerBusy,
  type RunnerListeners,
  type RunnerState,
  type RunReport,
  type SampleResult,
  type SamplesReport,
  type ExerciseSpec,
  type Stopped,
  type TokenEvent,
} from "./types";
import { words } from "./words";
import type { Task } from "./wire";

export * from "./types";

const LINT_S = 2;
/** Below, a second Python would take memory that the page needs. In GiB, as the browser tells it. */
const LEAST_MEMORY = 4;
/** Of live output; Python stops earlier. */
const MOST_OUTPUT = 128 * 1024;

export interface RunnerOptions {
  /** Address of assets/runtime/. */
  assets: string;
  lang: "zh" | "en";
}

export function createRunner(options: RunnerOptions): Runner {
  return new TabRunner(new URL(options.assets, document.baseURI).href);
}

class TabRunner implements Runner {
  private current: RunnerState = { phase: "idle" };
  private readonly listeners = new Set<RunnerListeners>();
  private session: Session | null = null;
  private starting: Promise<Session> | null = null;
  private modelLoading: Promise<void> | null = null;
  private coldSeconds = 0;
  private busy: "samples" | "generate" | "run" | "lint" | null = null;
  private linting: Promise<unknown> = Promise.resolve();
  private why: "time" | "user" | null = null;
  private output = 0;
  private disposed = false;

  constructor(private readonly base: string) {}

  get state(): RunnerState {
    return this.current;
  }

  listen(listeners: RunnerListeners): () => void {
    this.listeners.add(listeners);
    return () => this.listeners.delete(listeners);
  }

  async warm(what: "python" | "model" = "python"): Promise<void> {
    const session = await this.started();
    try {
      if (what === "model") await this.withModel(session);
    } finally {
      if (this.busy === null && session.isReady) this.change({ phase: "ready", coldSeconds: this.coldSeconds });
    }
  }

  async samples(
    exercise: ExerciseSpec,
    code: string,
    { seconds = SAMPLES_S }: { seconds?: number } = {},
  ): Promise<SamplesReport> {
    const results: SampleResult[] = [];
    const stop = this.listen({ onSample: (result) => results.push(result) });
    try {
      return await this.call(samplesCall(exercise, code, seconds, results));
    } finally {
      stop();
    }
  }

  async generate(
    request: GenerateRequest,
    { seconds = GENERATE_S }: { seconds?: number } = {},
  ): Promise<GenerateReport> {
    const tokens: TokenEvent[] = [];
    const stop = this.listen({ onToken: (token) => tokens.push(token) });
    try {
      return await this.call(generateCall(request, seconds, tokens));
    } finally {
      stop();
    }
  }

  async run(code: string, { seconds = RUN_S }: { seconds?: number } = {}): Promise<RunReport> {
    let stdout = "";
    const stop = this.listen({
      onOutput: (text) => {
        stdout += text;
      },
    });
    try {
      return await this.call(runCall(code, seconds, () => stdout));
    } finally {
      stop();
    }
  }

  async lint(code: string): Promise<LintItem[]> {
    if (this.busy !== null) throw new RunnerBusy();
    const { session } = this;
    if (session === null || !session.isReady) return [];
    this.busy = "lint";
    const timer = setTimeout(() => session.interrupt(), LINT_S * 1000);
    const data = session.run(task("lint", { code }), { onEvent: () => {} }).finally(() => {
      clearTimeout(timer);
      this.busy = null;
    });
    this.linting = data.catch(() => {});
    try {
      return decode.lintItems(await data);
    } catch (error) {
      if (error instanceof LostTask || error instanceof decode.Malformed) return [];
      throw error;
    }
  }

  stop(): void {
    if (this.busy === null || this.busy === "lint") return;
    this.why ??= "user";
    this.session?.interrupt();
  }

  dispose(): void {
    this.disposed = true;
    this.session?.close();
    this.session = null;
    this.listeners.clear();
  }

  private async call<Report extends { stopped: Stopped | null }>(call: Call<Report>): Promise<Report> {
    if (this.busy !== null && this.busy !== "lint") throw new RunnerBusy();
    const { linting } = this;
    this.busy = call.what;
    this.why = null;
    this.output = 0;
    try {
      await linting;
      const session = await this.started();
      if (call.model) await this.withModel(session);
      await session.ready();
      this.change({ phase: "busy", what: call.what });
      return await this.carryOut(session, call);
    } finally {
      this.busy = null;
      if (this.session?.isReady) this.change({ phase: "ready", coldSeconds: this.coldSeconds });
      else if (this.session !== null) this.comeBack(this.session);
    }
  }

  private async carryOut<Report extends { stopped: Stopped | null }>(
    session: Session,
    call: Call<Report>,
  ): Promise<Report> {
    if (this.why === "user") return { ...call.lost(0, "ended"), stopped: { why: "user" } } as Report;
    const start = performance.now();
    const timer = setTimeout(() => {
      this.why ??= "time";
      session.interrupt();
    }, call.seconds * 1000);
    try {
      const data = await session.run(task(call.what, call.args), { onEvent: (event) => this.pass(event) });
      const raw = call.read(data);
      return { ...raw, stopped: this.stopped(raw.stopped, call.seconds) } as Report;
    } catch (error) {
      const taken = (performance.now() - start) / 1000;
      if (error instanceof decode.Malformed) return { ...call.lost(taken, "garbled"), stopped: null } as Report;
      if (!(error instanceof LostTask)) throw error;
      const lost = call.lost(taken, "ended");
      return { ...lost, stopped: this.ended(error, call.seconds) } as Report;
    } finally {
      clearTimeout(timer);
      if (memory() >= LEAST_MEMORY && !session.isClosed) session.warmSpare();
    }
  }

  /** An interrupt is the page's own: of its limit or of its button. */
  private stopped(raw: decode.RawStopped | null, seconds: number): Stopped | null {
    if (raw === null || raw.why !== "interrupt") return raw;
    return this.why === "time" ? { why: "time", seconds, line: raw.line, hits: raw.hits } : { why: "user" };
  }

  private ended(lost: LostTask, seconds: number): Stopped {
    if (lost.why === "flood") return { why: "output", bytes: MOST_OUTPUT };
    if (lost.why === "memory" || lost.why === "nested") return { why: lost.why };
    if (lost.why === "stopped" && this.why === "time") return { why: "time", seconds, line: null, hits: null };
    return lost.why === "stopped" ? { why: "user" } : { why: "ended" };
  }

  private pass(event: { type: string; data: unknown }): void {
    try {
      if (event.type === "output") {
        const text = decode.string(event.data);
        this.output += text.length;
        if (this.output <= MOST_OUTPUT) this.tell((one) => one.onOutput?.(text));
      } else if (event.type === "sample") {
        const sample = decode.sample(event.data);
        this.tell((one) => one.onSample?.(sample));
      } else if (event.type === "token") {
        const token = decode.token(event.data);
        this.tell((one) => one.onToken?.(token));
      }
    } catch (error) {
      if (!(error instanceof decode.Malformed)) throw error;
    }
  }

  private started(): Promise<Session> {
    if (this.session?.isClosed) this.session = this.starting = this.modelLoading = null;
    this.starting ??= this.start().catch((error: unknown) => {
      this.session?.close();
      this.session = this.starting = this.modelLoading = null;
      const why = error instanceof Error ? error.message : String(error);
      this.change({ phase: "failed", message: error instanceof AssetsMissing ? words.missing(why) : words.failed(why) });
      throw error;
    });
    return this.starting;
  }

  private async start(): Promise<Session> {
    if (this.disposed) throw new Error("the runner was disposed of");
    const begin = performance.now();
    let step: "python" | "numpy" | "engine" = "python";
    let [loaded, total] = [0, 0];
    let session: Session | null = null;
    const tell = () => {
      if (session?.isClosed) return; // it has failed; a file that still comes changes nothing about that
      this.change({ phase: "loading", step, loaded, total });
    };
    tell();
    session = new Session(this.base, await fetchManifest(this.base), (done) => {
      step = done === "python" ? "numpy" : "engine";
      tell();
    });
    this.session = session;
    await session.start((now, all) => {
      [loaded, total] = [now, all];
      tell();
    });
    this.coldSeconds = (performance.now() - begin) / 1000;
    return session;
  }

  private withModel(session: Session): Promise<void> {
    this.modelLoading ??= session
      .loadModel((loaded, total) => this.change({ phase: "loading", step: "model", loaded, total }))
      .catch((error: unknown) => {
        this.modelLoading = null;
        throw error;
      });
    return this.modelLoading;
  }

  /** After a worker was ended: tell that the next one is on its way, and when it is there. */
  private async comeBack(session: Session): Promise<void> {
    if (session.isClosed) return this.change({ phase: "idle" });
    this.change({ phase: "loading", step: "python", loaded: 1, total: 1 });
    try {
      await session.ready();
      if (this.busy === null) this.change({ phase: "ready", coldSeconds: this.coldSeconds });
    } catch {
      if (this.busy === null) this.change({ phase: "idle" });
    }
  }

  private change(state: RunnerState): void {
    this.current = state;
    this.tell((one) => one.onState?.(state));
  }

  private tell(say: (one: RunnerListeners) => void): void {
    for (const one of [...this.listeners]) say(one);
  }
}

function task(call: Task["call"], args: unknown): Task {
  const random = crypto.getRandomValues(new Uint32Array(4));
  return { kind: "task", id: Array.from(random, (part) => part.toString(36)).join("-"), call, args: JSON.stringify(args) };
}

function memory(): number {
  return (navigator as { deviceMemory?: number }).deviceMemory ?? LEAST_MEMORY;
}
