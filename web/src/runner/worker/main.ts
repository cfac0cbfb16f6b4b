/**
 * The worker: Python, and learner code in it. Built to one classic script, since Chromium starts no module worker
 * from a blob of an opaque origin.
 *
 * What it needs of the global scope is taken before Python starts: learner code can change everything there.
 */
import createPyodideModule from "pyodide/pyodide.asm.mjs";
import { loadPyodide, type PyodideAPI } from "pyodide";
import type { Boot, FromWorker, Load, Package, Task, ToWorker } from "../wire";
import { limitMemory, serveFromMemory, stayOpen } from "./environment";
import { untar } from "./untar";

const SITE_PACKAGES = "/lib/python3.14/site-packages";
const BASE = "https://python.invalid/";

const post = self.postMessage.bind(self) as (text: string) => void;
const stringify = JSON.stringify;
const describe = String;

let python: PyodideAPI | null = null;
let interrupt: SharedArrayBuffer | null = null;
let call: ((name: string, args: string, emit: (type: string, data: string) => void) => string) | null = null;

function say(message: FromWorker): void {
  post(stringify(message));
}

/** Python's own JSON goes out as it is. */
function sayJson(type: string, id: string, json: string): void {
  post(`{"type":${stringify(type)},"id":${stringify(id)},"data":${json}}`);
}

async function boot(message: Boot): Promise<void> {
  limitMemory();
  stayOpen();
  const restore = serveFromMemory(BASE, message.wasm, { "stdlib.zip": message.stdlib });
  try {
    python = await loadPyodide({
      indexURL: BASE,
      stdLibURL: `${BASE}stdlib.zip`,
      lockFileContents: EMPTY_LOCK,
      createPyodideModule: createPyodideModule as never,
      env: { HOME: "/home/learner", PYTHONINSPECT: "" },
      stdin: () => null,
      stdout: () => {},
      stderr: () => {},
    });
  } finally {
    restore();
  }
  say({ type: "step", step: "python" });
  interrupt = message.interrupt;
}

function add({ step, tar }: Package): void {
  if (python === null) return;
  untar(python.FS as never, new Uint8Array(tar), SITE_PACKAGES);
  python.runPython(step === "numpy" ? "import numpy" : "import judge_runner.tab");
  say({ type: "step", step });
}

function booted(): void {
  if (python === null) return;
  call = python.globals.get("__import__")("sys").modules.get("judge_runner.tab").call;
  if (interrupt !== null) python.setInterruptBuffer(new Uint8Array(interrupt));
  say({ type: "ready" });
}

function load(message: Load): void {
  if (python === null) return;
  for (const { path, data } of message.files) {
    python.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    python.FS.writeFile(path, new Uint8Array(data), { canOwn: true });
  }
  say({ type: "loaded" });
}

function run(task: Task): void {
  if (call === null) return;
  self.String = describe; // Pyodide asks for it by name, and the run before may have put something else there
  const emit = (type: string, data: string) => sayJson(type, task.id, data);
  sayJson("end", task.id, call(task.call, task.args, emit));
}

/** What escapes from Python's own handling leaves an interpreter of no more use. */
async function take(message: ToWorker): Promise<void> {
  try {
    if (message.kind === "boot") await boot(message);
    else if (message.kind === "package") add(message);
    else if (message.kind === "booted") booted();
    else if (message.kind === "load") load(message);
    else run(message);
  } catch (error) {
    say({ type: "dead", message: describe(error).slice(-2000) });
  }
}

let last = Promise.resolve();
self.addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  last = last.then(() => take(data));
});

const EMPTY_LOCK = {
  info: { arch: "wasm32", platform: "emscripten_5_0_3", version: "314.0.7", python: "3.14.2", abi_version: "2026_0" },
  packages: {},
} as never;
