/**
 * `<minisgl-animation name="kv_pool" src="traces/kv_pool.jsonl" lang="zh">`: plays a trace in a page.
 *
 * Without `src` and `trace` it plays the recorded trace of its name that lies beside this module. Properties:
 * `trace` (events, or a JSON Lines text), `code` (the learner's file), `step`. Event: `minisgl-step` with
 * `{step, line}`. What stands inside the element is its text alternative, which stays when it cannot play.
 */

interface Renders {
  default: { render(of: { model: ElementModel; el: HTMLElement }): () => void };
}

const NAMES = /^[a-z_]+$/;

/** Fields of the element as anywidget's model. */
class ElementModel {
  private readonly fields: Record<string, unknown> = {};
  private readonly listeners = new Map<string, Set<() => void>>();

  get(field: string): unknown {
    return this.fields[field];
  }

  /** Set without telling the one who set it. */
  set(field: string, value: unknown): void {
    this.fields[field] = value;
  }

  change(field: string, value: unknown): void {
    if (this.fields[field] === value) return;
    this.fields[field] = value;
    for (const listener of this.listeners.get(`change:${field}`) ?? []) listener();
  }

  on(event: string, listener: () => void): void {
    const set = this.listeners.get(event) ?? new Set();
    this.listeners.set(event, set.add(listener));
  }

  off(event: string, listener: () => void): void {
    this.listeners.get(event)?.delete(listener);
  }

  save_changes(): void {}
}

class MinisglAnimation extends HTMLElement {
  static readonly observedAttributes = ["name", "src", "lang", "step"];

  private readonly model = new ElementModel();
  private dispose: (() => void) | null = null;
  private given: unknown = null;
  private turn = 0;

  /** The events to play, as objects or as the text of a JSON Lines file. */
  get trace(): unknown {
    return this.model.get("trace");
  }

  set trace(trace: unknown) {
    this.given = trace ?? null;
    if (this.given !== null) this.model.change("trace", trace);
    if (this.isConnected && !this.dispose) void this.show();
  }

  get code(): unknown {
    return this.model.get("code");
  }

  set code(code: unknown) {
    this.model.change("code", code);
  }

  get step(): number {
    return Number(this.model.get("step") ?? 0);
  }

  set step(step: number) {
    this.model.change("step", Number(step));
  }

  connectedCallback(): void {
    void this.show();
  }

  disconnectedCallback(): void {
    this.turn += 1;
    this.dispose?.();
    this.dispose = null;
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (before === after) return;
    if (name === "lang") this.model.change("lang", this.language());
    else if (name === "step") this.step = Number(after);
    else if (this.isConnected) {
      this.disconnectedCallback();
      void this.show();
    }
  }

  private language(): string {
    const said = this.closest("[lang]")?.getAttribute("lang") ?? "en";
    return said.toLowerCase().startsWith("zh") ? "zh" : "en";
  }

  /** Load the module and the trace, then play; on failure the text alternative stays. */
  private async show(): Promise<void> {
    const turn = (this.turn += 1);
    const name = this.getAttribute("name") ?? "";
    this.removeAttribute("data-failed");
    try {
      if (!NAMES.test(name)) throw new Error(`no animation is called "${name}"`);
      const [module, trace] = await Promise.all([
        import(/* @vite-ignore */ new URL(`${name}.js`, import.meta.url).href) as Promise<Renders>,
        this.given ?? this.recorded(name),
      ]);
      if (turn !== this.turn || !this.isConnected) return;
      this.dispose?.();
      this.model.set("trace", trace);
      this.model.set("lang", this.language());
      this.dispose = module.default.render({ model: this.model, el: this });
    } catch (error) {
      if (turn !== this.turn) return;
      this.setAttribute("data-failed", "");
      console.error(`minisgl-animation ${name}: it cannot be played, its text stays`, error);
    }
  }

  private async recorded(name: string): Promise<string> {
    const src = this.getAttribute("src");
    const address = src ? new URL(src, document.baseURI) : new URL(`traces/${name}.jsonl`, import.meta.url);
    const response = await fetch(address);
    if (!response.ok) throw new Error(`${address.href}: ${response.status}`);
    return response.text();
  }
}

if (!customElements.get("minisgl-animation")) customElements.define("minisgl-animation", MinisglAnimation);
