/** One sandboxed frame and its workers: starts them, hears them, and ends what does not end by itself. */
import { type Asset, fetchAssets, type Manifest } from "./assets";
import { Malformed, parseMessage } from "./decode";
import { Frame } from "./frame/frame";
import type { FromFrame, FromWorker, Task } from "./wire";

export const GRACE_MS = 1000;
const PING_MS = 2000;
/** So many pings without an answer, and the frame is gone. Counted, since a busy page asks late, too. */
const MOST_SILENT = 5;

/** Why a task got no report. */
export type Lost = "stopped" | "flood" | "memory" | "nested" | "ended";

export interface TaskListener {
  /** Output, samples and tokens on their way. */
  onEvent(message: Extract<FromWorker, { data: unknown }>): void;
}

interface Running extends TaskListener {
  task: Task;
  /** The code runs; before that it is read. */
  begun: boolean;
  resolve(data: unknown): void;
  reject(lost: LostTask): void;
}

export class LostTask extends Error {
  constructor(
    readonly why: Lost,
    detail = "",
  ) {
    super(`${why} ${detail}`);
  }
}

interface WorkerState {
  ready: boolean;
  /** Answered `load` messages. */
  loads: number;
}

export class Session {
  private frame: Frame | null = null;
  private readonly workers = new Map<number, WorkerState>();
  private active = -1;
  private canInterrupt = false;
  private running: Running | null = null;
  private graceTimer: ReturnType<typeof setTimeout> | undefined;
  private pingTimer: ReturnType<typeof setInterval> | undefined;
  private silent = 0;
  private loads = 0;
  private waiting: (() => void)[] = [];
  private closed: string | null = null;

  constructor(
    private readonly base: string,
    private readonly manifest: Manifest,
    private readonly onStep: (step: "python" | "numpy" | "engine") => void,
  ) {}

  /** Fetch, start the frame, and hand it over. */
  async start(onProgress: (loaded: number, total: number) => void): Promise<void> {
    const names = ["worker", "wasm", "stdlib", "numpy", "engine"] as const;
    const assets: Asset[] = names.map((name) => this.manifest.files[name]);
    const [frame, buffers] = await Promise.all([
      Frame.open((message) => this.hear(message)),
      fetchAssets(this.base, assets, onProgress),
    ]);
    this.frame = frame;
    const [worker, wasm, stdlib, numpy, engine] = buffers as [
      ArrayBuffer,
      ArrayBuffer,
      ArrayBuffer,
      ArrayBuffer,
      ArrayBuffer,
    ];
    const packages = [
      { step: "numpy" as const, tar: numpy },
      { step: "engine" as const, tar: engine },
    ];
    frame.send({ kind: "start", worker, wasm, stdlib, packages }, buffers);
    this.watch();
    await this.until(() => this.activeState?.ready === true);
  }

  async loadModel(onProgress: (loaded: number, total: number) => void): Promise<void> {
    const { model } = this.manifest;
    const buffers = await fetchAssets(this.base, model, onProgress);
    const files = model.map(({ path }, i) => ({ path, data: buffers[i] as ArrayBuffer }));
    this.loads += 1;
    this.frame?.send({ kind: "load", files }, buffers);
    await this.ready();
  }

  /** Until the active worker can take a task. */
  async ready(): Promise<void> {
    await this.until(() => this.activeState?.ready === true && this.activeState.loads >= this.loads);
  }

  get isReady(): boolean {
    return this.activeState?.ready === true && this.activeState.loads >= this.loads;
  }

  get isClosed(): boolean {
    return this.closed !== null;
  }

  /** Keep a second worker ready, which takes over at once when the first is ended. */
  warmSpare(): void {
    this.frame?.send({ kind: "spare" });
  }

  /** Run a task; rejects with LostTask. One at a time. */
  run(task: Task, listener: TaskListener): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.closed !== null) return reject(new LostTask("ended", this.closed));
      this.running = { task, begun: false, resolve, reject, ...listener };
      this.frame?.send({ kind: "task", task });
    });
  }

  /** Interrupt the task; end its worker if it goes on. */
  interrupt(): void {
    const task = this.running?.task;
    if (task === undefined) return;
    if (!this.canInterrupt) return this.replace("stopped");
    this.frame?.send({ kind: "interrupt" });
    clearTimeout(this.graceTimer);
    this.graceTimer = setTimeout(() => {
      if (this.running?.task === task) this.replace("stopped");
    }, GRACE_MS);
  }

  close(why = "closed"): void {
    if (this.closed !== null) return;
    this.closed = why;
    clearInterval(this.pingTimer);
    clearTimeout(this.graceTimer);
    this.frame?.close();
    this.lose("ended", why);
    this.wakeAll();
  }

  private replace(why: Lost): void {
    this.frame?.send({ kind: "replace" });
    this.active = -1;
    this.lose(why);
  }

  private lose(why: Lost, detail = ""): void {
    const { running } = this;
    this.running = null;
    running?.reject(new LostTask(why, detail));
  }

  private hear(message: FromFrame): void {
    switch (message.kind) {
      case "pong":
        this.silent = 0;
        break;
      case "active":
        this.active = message.number;
        this.canInterrupt = message.canInterrupt;
        this.wakeAll();
        break;
      case "worker":
        this.hearWorker(message.number, message.text);
        break;
      case "broken":
        if (message.number === this.active) {
          this.active = -1;
          this.lose(message.why === "error" ? "memory" : message.why === "form" ? "ended" : "flood", message.message);
        }
        break;
      case "refused":
        this.close(message.message);
        break;
    }
  }

  private hearWorker(number: number, text: string): void {
    const state = this.state(number);
    let message: FromWorker;
    try {
      message = parseMessage(text);
    } catch (error) {
      if (error instanceof Malformed) return;
      throw error;
    }
    switch (message.type) {
      case "step":
        if (number === this.active && !state.ready) this.onStep(message.step);
        break;
      case "ready":
        state.ready = true;
        this.wakeAll();
        break;
      case "loaded":
        state.loads += 1;
        this.wakeAll();
        break;
      case "dead":
        if (number !== this.active) break;
        if (state.ready) this.replace(this.whyDead(message.message));
        else this.close(message.message);
        break;
      case "begun":
        if (this.running?.task.id === message.id && number === this.active) this.running.begun = true;
        break;
      case "end":
        if (this.running?.task.id === message.id && number === this.active) {
          clearTimeout(this.graceTimer);
          const { resolve } = this.running;
          this.running = null;
          resolve(message.data);
        }
        break;
      default:
        if (this.running?.task.id === message.id && number === this.active) this.running.onEvent(message);
    }
  }

  /** What the browser says of a stack that is full, before any of the code has run, is the depth of the code itself. */
  private whyDead(message: string): Lost {
    if (/out of memory|allocation failed/i.test(message)) return "memory";
    const full = /call stack|too much recursion|stack overflow/i.test(message);
    return full && this.running?.begun === false ? "nested" : "ended";
  }

  /** A frame that does not answer is gone, its process with it, or as good as gone. */
  private watch(): void {
    this.pingTimer = setInterval(() => {
      if (this.silent >= MOST_SILENT) {
        this.lose("memory", "the frame is gone");
        return this.close("the frame is gone");
      }
      if (document.visibilityState === "visible") this.silent += 1;
      this.frame?.send({ kind: "ping" });
    }, PING_MS);
  }

  private get activeState(): WorkerState | undefined {
    return this.workers.get(this.active);
  }

  private state(number: number): WorkerState {
    const state = this.workers.get(number) ?? { ready: false, loads: 0 };
    this.workers.set(number, state);
    return state;
  }

  private wakeAll(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const wake of waiting) wake();
  }

  private async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.closed !== null) throw new LostTask("ended", this.closed);
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }
}
