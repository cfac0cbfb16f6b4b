/**
 * What page, frame and worker say to each other.
 *
 * Page and frame share a message port; the frame starts the workers. A worker sends text alone, which the frame
 * passes on uninterpreted and the page decodes strictly (`decode.ts`): learner code can post whatever it likes.
 */

/** What Python starts with, unpacked. Its packages follow, then "booted". */
export interface Boot {
  kind: "boot";
  wasm: WebAssembly.Module;
  stdlib: ArrayBuffer;
  /** One byte, by which Python is interrupted; null where the browser shares no memory here. */
  interrupt: SharedArrayBuffer | null;
}

/** An archive to unpack into site-packages, and the step that importing it is. */
export interface Package {
  step: "numpy" | "engine";
  tar: ArrayBuffer;
}

/** A call of `judge_runner.tab`. `id` cannot be guessed, so what an earlier call left behind cannot answer it. */
export interface Task {
  kind: "task";
  id: string;
  call: "samples" | "generate" | "run" | "lint";
  args: string;
}

/** Files for Python's file system, as `/model/config.json`. */
export interface Load {
  kind: "load";
  files: { path: string; data: ArrayBuffer }[];
}

export type ToWorker = Boot | (Package & { kind: "package" }) | { kind: "booted" } | Task | Load;

export type ToFrame =
  | { kind: "start"; worker: ArrayBuffer; wasm: ArrayBuffer; stdlib: ArrayBuffer; packages: Package[] }
  | { kind: "load"; files: Load["files"] }
  | { kind: "task"; task: Task }
  | { kind: "interrupt" }
  /** End the worker, and let the spare take over; one is started where none is there. */
  | { kind: "replace" }
  | { kind: "spare" }
  | { kind: "ping" };

/** What the frame itself says. `number` counts the workers. */
export type FromFrame =
  | { kind: "worker"; number: number; text: string }
  | { kind: "active"; number: number; canInterrupt: boolean }
  | { kind: "broken"; number: number; why: "flood" | "error" | "form"; message: string }
  | { kind: "refused"; message: string }
  | { kind: "pong" };

/** What a worker says, as JSON text. */
export type FromWorker =
  | { type: "step"; step: "python" | "numpy" | "engine" }
  | { type: "ready" }
  | { type: "loaded" }
  | { type: "dead"; message: string }
  /** The task's code is read and compiled, and runs from now on. */
  | { type: "begun"; id: string }
  | { type: "output" | "sample" | "token"; id: string; data: unknown }
  | { type: "end"; id: string; data: unknown };
