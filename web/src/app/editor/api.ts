/**
 * Completion and the signature of the call at hand, from `assets/runtime/api.json`: what the tab's torch and the
 * engine offer. The file is read when it is first asked for.
 */

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { pythonLanguage } from "@codemirror/lang-python";
import { type EditorState, type Extension, StateField } from "@codemirror/state";
import { showTooltip, type Tooltip } from "@codemirror/view";
import { at, site } from "../site-data";

/** One name: where it is found, what it is, how it is called. */
export interface ApiEntry {
  /** `torch.arange`, `Tensor.clone`, `CacheManager.lock`. */
  name: string;
  kind: string;
  signature?: string;
  doc?: string;
}

let entries: ApiEntry[] = [];
let asked: Promise<ApiEntry[]> | null = null;

function load(): Promise<ApiEntry[]> {
  asked ??= site.runtime
    ? fetch(at("assets/runtime/api.json"))
        .then(async (answer) => (answer.ok ? readApi(await answer.json()) : []))
        .catch(() => [])
        .then((found) => (entries = found))
    : Promise.resolve([]);
  return asked;
}

/** The entries of the file, whether it is a list or a list by module. */
export function readApi(value: unknown): ApiEntry[] {
  const listed = Array.isArray(value) ? value : ((value as { entries?: unknown } | null)?.entries ?? []);
  return (Array.isArray(listed) ? listed : []).filter(
    (one): one is ApiEntry => typeof (one as ApiEntry | null)?.name === "string",
  );
}

/** What may follow `before`, the dotted text up to the caret. */
export function candidates(all: readonly ApiEntry[], owner: string | null): Completion[] {
  const seen = new Map<string, Completion>();
  for (const entry of all) {
    const dot = entry.name.lastIndexOf(".");
    const own = dot < 0 ? "" : entry.name.slice(0, dot);
    const label = entry.name.slice(dot + 1);
    const isModule = owner === "torch" || owner === "minisgl" || (owner !== null && all.some((one) => one.name.startsWith(`${owner}.`)));
    if (owner === null ? own !== "" && own !== "torch" : isModule ? own !== owner : own === "" || own === "torch") continue;
    if (!seen.has(label)) {
      seen.set(label, {
        label: owner === null && own === "torch" ? entry.name : label,
        type: entry.kind,
        detail: entry.signature ?? "",
        ...(entry.doc ? { info: entry.doc } : {}),
      });
    }
  }
  return [...seen.values()];
}

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const dotted = context.matchBefore(/[\w.]*\.\w*$/);
  const word = dotted ?? context.matchBefore(/\w+$/);
  if (!word && !context.explicit) return null;
  const all = await load();
  const text = word?.text ?? "";
  const dot = text.lastIndexOf(".");
  const owner = dot < 0 ? null : (text.slice(0, dot).split(".").pop() ?? "");
  if (dot < 0 && text.length < 2 && !context.explicit) return null;
  const options = candidates(all, owner);
  return options.length ? { from: (word?.from ?? context.pos) + dot + 1, options, validFor: /^\w*$/ } : null;
}

/** The name that is being called where the caret is, and the number of the argument. */
export function callAt(text: string): { name: string; argument: number } | null {
  let depth = 0;
  let argument = 0;
  for (let index = text.length - 1; index >= 0; index -= 1) {
    const character = text[index] ?? "";
    if (")]}".includes(character)) depth += 1;
    else if ("([{".includes(character)) {
      if (depth === 0) {
        const name = character === "(" ? /([A-Za-z_][\w.]*)$/.exec(text.slice(0, index)) : null;
        return name?.[1] ? { name: name[1], argument } : null;
      }
      depth -= 1;
    } else if (character === "," && depth === 0) argument += 1;
  }
  return null;
}

/** The entry for a called name: the longest tail of the dotted name that is known. */
export function entryFor(all: readonly ApiEntry[], called: string): ApiEntry | null {
  const last = called.split(".").pop() ?? "";
  const exact = all.find((one) => one.name === called);
  return exact ?? all.find((one) => one.name.split(".").pop() === last && one.signature) ?? null;
}

function tooltip(state: EditorState): Tooltip | null {
  const { main } = state.selection;
  if (!main.empty || !entries.length) return null;
  const start = Math.max(0, main.head - 400);
  const call = callAt(state.sliceDoc(start, main.head));
  const entry = call && entryFor(entries, call.name);
  if (!entry?.signature) return null;
  const { signature, doc } = entry;
  return {
    pos: main.head,
    above: true,
    create: () => {
      const dom = document.createElement("div");
      dom.className = "signature";
      dom.textContent = signature.startsWith("(") ? `${entry.name}${signature}` : signature;
      if (doc) {
        const about = document.createElement("div");
        about.className = "about";
        about.textContent = doc.split("\n")[0] ?? "";
        dom.append(about);
      }
      return { dom };
    },
  };
}

const signatures = StateField.define<Tooltip | null>({
  create: () => null,
  update: (before, transaction) =>
    transaction.docChanged || transaction.selection ? tooltip(transaction.state) : before,
  provide: (field) => showTooltip.from(field),
});

export const apiHelp: Extension = [pythonLanguage.data.of({ autocomplete: complete }), signatures];
