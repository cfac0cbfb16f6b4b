/** What Pyodide finds around it in the worker. */

const PAGE = 65536;
/** As much as the judge gives to the engine. */
const MEMORY = 1024 * 2 ** 20;

/** More memory than the limit is refused to Python, which then raises MemoryError; the tab lives on. */
export function limitMemory(): void {
  const grow = WebAssembly.Memory.prototype.grow;
  WebAssembly.Memory.prototype.grow = function (this: WebAssembly.Memory, pages: number) {
    if (this.buffer.byteLength + pages * PAGE > MEMORY) throw new RangeError("memory limit");
    return grow.call(this, pages);
  };
}

/** A worker that learner code has closed looks like one that is busy; so it cannot be closed from inside. */
export function stayOpen(): void {
  delete (DedicatedWorkerGlobalScope.prototype as Partial<DedicatedWorkerGlobalScope>).close;
}

/**
 * Pyodide fetches its parts by address; here they are in memory already, and there is no network. The module of
 * WebAssembly comes compiled. Returns what puts everything back.
 */
export function serveFromMemory(
  base: string,
  wasm: WebAssembly.Module,
  files: Record<string, ArrayBuffer>,
): () => void {
  const { fetch } = self;
  const { instantiateStreaming } = WebAssembly;
  self.fetch = async (input) => {
    const file = files[String(input).slice(base.length)];
    return new Response(file ?? new ArrayBuffer(0));
  };
  WebAssembly.instantiateStreaming = async (_source, imports) => ({
    module: wasm,
    instance: await WebAssembly.instantiate(wasm, imports),
  });
  return () => {
    self.fetch = fetch;
    WebAssembly.instantiateStreaming = instantiateStreaming;
  };
}
