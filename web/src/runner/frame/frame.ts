/** The page's side of the sandboxed frame. */
import script from "./inside.js?raw";
import type { FromFrame, ToFrame } from "../wire";

/**
 * No network, no storage, no DOM of ours: an opaque origin, and a policy that lets it compile WebAssembly and start
 * workers from its own text. A frame without an address inherits the page's policy besides, so the page's has to
 * allow at least this; it names the script by its hash.
 */
const POLICY = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:";

/** How long an empty frame may take to answer. */
const START_MS = 20_000;

export class Frame {
  private constructor(
    private readonly element: HTMLIFrameElement,
    private readonly port: MessagePort,
  ) {}

  /** Make a frame. Rejects when it does not start, for example since the page's policy does not know its script. */
  static open(onMessage: (message: FromFrame) => void): Promise<Frame> {
    const element = document.createElement("iframe");
    element.setAttribute("sandbox", "allow-scripts");
    element.setAttribute("allow", "cross-origin-isolated");
    element.setAttribute("aria-hidden", "true");
    element.tabIndex = -1;
    element.hidden = true;
    element.title = "Python";
    element.srcdoc = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${POLICY}"><script>${script}</script>`;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => finish(new Error("the sandboxed frame did not start")), START_MS);
      const hear = (event: MessageEvent) => {
        if (event.source === element.contentWindow && event.data === "minisgl-frame") finish(null);
      };
      const finish = (error: Error | null) => {
        clearTimeout(timer);
        removeEventListener("message", hear);
        if (error !== null) {
          element.remove();
          return reject(error);
        }
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = ({ data }) => onMessage(data as FromFrame);
        element.contentWindow?.postMessage(null, "*", [port2]);
        resolve(new Frame(element, port1));
      };
      addEventListener("message", hear);
      document.body.append(element);
    });
  }

  send(message: ToFrame, transfer: Transferable[] = []): void {
    this.port.postMessage(message, transfer);
  }

  close(): void {
    this.port.close();
    this.element.remove();
  }
}
