/** The anywidget shape: the same module plays in a page, in the book and in JupyterLab. */

import { h } from "../dom";
import { fold as foldFrom, History } from "../history";
import { readTrace } from "../trace";
import type { Animation, BaseState, Step } from "../types";
import { makeContext } from "../words";
import { Player } from "./player";
import { css } from "./style";

/** What a module needs of anywidget's model; a page passes an object with these. */
export interface Model {
  get(field: string): unknown;
  set?(field: string, value: unknown): void;
  save_changes?(): void;
  on(event: string, listener: () => void): void;
  off?(event: string, listener: () => void): void;
}

export interface Module<S extends BaseState> {
  default: { render(of: { model: Model; el: HTMLElement }): () => void };
  steps(events: unknown): Step[];
  fold(events: unknown, k: number): S;
  states(events: unknown): S[];
  at(events: unknown, ks: readonly number[]): S[];
}

const FIELDS = ["trace", "lang", "code", "step"];

/** The exports of an animation's module. */
export function moduleOf<S extends BaseState>(animation: Animation<S>): Module<S> {
  const historyOf = (events: unknown): History<S> => new History(animation, readTrace(events).events);
  return {
    default: { render: ({ model, el }) => render(animation, model, el) },
    steps: (events) => historyOf(events).steps,
    fold: (events, k) => foldFrom(animation, readTrace(events).events, k),
    states: (events) => Array.from(historyOf(events).walk(0), (state) => structuredClone(state)),
    at: (events, ks) => {
      const history = historyOf(events);
      return ks.map((k) => history.at(k));
    },
  };
}

function render<S extends BaseState>(animation: Animation<S>, model: Model, el: HTMLElement): () => void {
  const host = el.tagName.includes("-") ? el : el.appendChild(h("div"));
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css + animation.css);
  root.adoptedStyleSheets = [sheet];
  let player: Player<S> | null = null;
  let silent = false;

  const show = (): void => {
    const step = player?.step ?? asNumber(model.get("step"));
    player?.destroy();
    setScheme(host);
    const code = model.get("code");
    player = new Player(animation, readTrace(model.get("trace")), makeContext(model.get("lang")), {
      code: typeof code === "string" ? code : undefined,
      step,
      onStep: (at, line) => {
        host.dispatchEvent(new CustomEvent("minisgl-step", { bubbles: true, composed: true, detail: { step: at, line } }));
        if (!model.set || !model.save_changes || model.get("step") === at) return;
        silent = true;
        model.set("step", at);
        model.save_changes();
        silent = false;
      },
    });
    root.replaceChildren(player.element);
  };
  const onTrace = (): void => {
    player?.destroy();
    player = null;
    show();
  };
  const onStep = (): void => {
    const step = asNumber(model.get("step"));
    if (!silent && player && step !== player.step) player.seek(step);
  };
  const listeners: Record<string, () => void> = { trace: onTrace, lang: show, code: show, step: onStep };
  for (const field of FIELDS) model.on(`change:${field}`, listeners[field] as () => void);
  show();
  return () => {
    for (const field of FIELDS) model.off?.(`change:${field}`, listeners[field] as () => void);
    player?.destroy();
    if (host !== el) host.remove();
  };
}

const asNumber = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);

/** Pages that name no colour scheme get the system's; JupyterLab says on its body which theme it has. */
function setScheme(host: HTMLElement): void {
  const jupyter = document.body.dataset["jpThemeLight"];
  if (jupyter !== undefined) host.style.colorScheme = jupyter === "true" ? "light" : "dark";
  else if (getComputedStyle(host).colorScheme === "normal") host.style.colorScheme = "light dark";
}
