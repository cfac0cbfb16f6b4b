"use strict";
// The sandboxed frame's only script (see wire.ts): it starts workers, ends them, and passes on what they say.
// Its text has to be the page's word for word, since the page's CSP names its hash; so no build step touches it.
(() => {
  const MOST_TEXT = 4 * 2 ** 20; // of one message
  const MOST_BYTES = 48 * 2 ** 20; // between two tasks
  const MOST_MESSAGES = 10000;
  const OURS = '{"type":"';

  let port, parts, active, spare;
  let count = 0;
  let files = [];

  const sharedBytes = () => (self.crossOriginIsolated ? new SharedArrayBuffer(1) : null);

  async function unpacked(buffer) {
    const stream = new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  function startWorker() {
    const url = URL.createObjectURL(new Blob([parts.worker], { type: "text/javascript" }));
    const one = { number: count++, worker: new Worker(url), interrupt: sharedBytes(), bytes: 0, messages: 0 };
    const here = files;
    one.worker.onmessage = ({ data }) => take(one, data);
    one.worker.onmessageerror = () => broken(one, "form", "");
    one.worker.onerror = (event) => broken(one, "error", String(event.message));
    one.fed = feed(one)
      .then(() => here.length > 0 && one.worker.postMessage({ kind: "load", files: here }))
      .catch(() => {}); // start() tells of it
    return one;
  }

  // each part as soon as it is there: Python starts while the packages are still being unpacked
  async function feed({ worker, interrupt }) {
    const [wasm, stdlib] = await Promise.all([parts.wasm, parts.stdlib]);
    worker.postMessage({ kind: "boot", wasm, stdlib, interrupt });
    for (const { step, tar } of parts.packages) worker.postMessage({ kind: "package", step, tar: await tar });
    worker.postMessage({ kind: "booted" });
  }

  function take(one, text) {
    if (typeof text !== "string" || !text.startsWith(OURS)) return broken(one, "form", typeof text);
    one.bytes += text.length;
    one.messages += 1;
    if (text.length > MOST_TEXT || one.bytes > MOST_BYTES || one.messages > MOST_MESSAGES) {
      return broken(one, "flood", "");
    }
    port.postMessage({ kind: "worker", number: one.number, text });
  }

  function broken(one, why, message) {
    one.worker.terminate();
    one.worker.onmessage = one.worker.onerror = one.worker.onmessageerror = null;
    port.postMessage({ kind: "broken", number: one.number, why, message: message.slice(0, 500) });
    if (one === spare) spare = null;
    else if (one === active) replace();
  }

  function replace() {
    active.worker.terminate();
    active.worker.onmessage = null;
    active = spare ?? startWorker();
    spare = null;
    tellActive();
  }

  function tellActive() {
    port.postMessage({ kind: "active", number: active.number, canInterrupt: active.interrupt !== null });
  }

  async function start({ worker, wasm, stdlib, packages }) {
    const compiled = unpacked(wasm).then((bytes) => WebAssembly.compile(bytes));
    parts = {
      wasm: compiled,
      stdlib: unpacked(stdlib),
      packages: packages.map(({ step, tar }) => ({ step, tar: compiled.then(() => unpacked(tar)) })), // needed last
    };
    const all = Promise.all([parts.wasm, parts.stdlib, ...parts.packages.map((one) => one.tar)]);
    parts.worker = await unpacked(worker);
    active = startWorker();
    tellActive();
    await all;
  }

  const handlers = {
    start: (message) => start(message).catch((error) => port.postMessage({ kind: "refused", message: String(error) })),
    load(message) {
      files = [...files, ...message.files];
      for (const one of [active, spare]) one?.fed.then(() => one.worker.postMessage(message));
    },
    task(message) {
      active.bytes = active.messages = 0;
      if (active.interrupt) new Uint8Array(active.interrupt)[0] = 0;
      active.worker.postMessage(message.task);
    },
    interrupt() {
      if (active.interrupt) new Uint8Array(active.interrupt)[0] = 2;
    },
    replace,
    spare() {
      spare ??= startWorker();
    },
    ping: () => port.postMessage({ kind: "pong" }),
  };

  self.addEventListener("message", (event) => {
    if (event.source !== parent || port !== undefined) return;
    port = event.ports[0];
    port.onmessage = ({ data }) => handlers[data.kind](data);
  });
  parent.postMessage("minisgl-frame", "*");
})();
