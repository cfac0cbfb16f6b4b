/** Free code in the tab, with the engine at hand; a link carries it to somebody else. */

import type { Stopped } from "../runner/types";
import { stoppedWords } from "./desk/samples";
import { streamRow } from "./desk/stream";
import { chrome } from "./chrome";
import { byId, clock, h, icon, plainCode, rich, say } from "./dom";
import { apiHelp } from "./editor/api";
import { Editor } from "./editor/editor";
import { lintBy } from "./editor/lint";
import { fromAddress, isNewer, MOST_ADDRESS, toAddress, TooLong } from "./lib/share";
import { halfCharacter } from "./lib/text";
import { sayState } from "./loading";
import { hasRunner, runner, whyNot } from "./runner";
import { showStanding } from "./standing";
import { openStore, type Store } from "./store/database";
import { DraftKeeper } from "./store/draft";
import { remember } from "./store/history";
import type { Runner } from "../runner/types";
import { lang, t } from "./words";

const KEY = "playground";
const FIRST = `import torch
from minisgl.scheduler.cache import CacheManager

manager = CacheManager(8, 4, torch.zeros((2, 16), dtype=torch.int32), "radix")
print(manager.free_slots)
manager.available_size
`;

class Playground {
  private editor!: Editor;
  private readonly host = h("div", { class: "ed-body", id: "code" });
  private readonly saved = h("span", { class: "small", id: "saved" });
  private readonly note = h("div", { class: "ed-note", id: "shared", role: "alert", hidden: true });
  private readonly status = h("p", { class: "lasts", id: "last", role: "status" });
  private readonly output = h("section", { class: "output", id: "output", "aria-label": t("output") });
  private readonly runButton = h("button", { class: "btn main", type: "button", id: "run-code" }, icon("play"), h("span", {}, t("run_code")), h("kbd", {}, "Ctrl Enter"));
  private readonly stopButton = h("button", { class: "btn", type: "button", id: "stop", hidden: true }, icon("stop"), t("stop"));
  private readonly shareButton = h("button", { class: "btn", type: "button", id: "share" }, icon("link"), t("share"));
  private readonly drafts: DraftKeeper;
  private python: Runner | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly store: Store) {
    this.drafts = new DraftKeeper(store, KEY, () => {});
  }

  async start(box: HTMLElement): Promise<void> {
    const kept = await this.drafts.load();
    box.replaceChildren(
      h(
        "div",
        { class: "editor" },
        h("div", { class: "ed-head" }, h("span", { class: "mono ed-file" }, icon("file"), "playground.py"), this.saved),
        this.note,
        this.host,
        h("p", { class: "small ed-help" }, t("editor_help")),
        h("div", { class: "ed-foot" }, h("span", { class: "ed-btns" }, this.runButton, this.stopButton, this.shareButton), this.status),
      ),
      this.output,
      ...(hasRunner() ? [this.generator()] : []),
    );
    this.editor = new Editor({
      host: this.host,
      code: kept?.code ?? FIRST,
      state: kept?.state,
      label: t("editor"),
      onChange: () => {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.save(), 250);
      },
      extensions: [lintBy(() => this.python), apiHelp],
    });
    this.runButton.addEventListener("click", () => void this.run());
    this.stopButton.addEventListener("click", () => this.python?.stop());
    this.shareButton.addEventListener("click", () => void this.share());
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
      event.preventDefault();
      event.stopPropagation();
      void this.run();
    }, { capture: true });
    addEventListener("pagehide", () => this.timer !== undefined && this.save());
    addEventListener("hashchange", () => void this.offered());
    if (!hasRunner()) {
      this.runButton.setAttribute("aria-disabled", "true");
      say(this.status, t("no_runner"));
    }
    await this.offered();
  }

  private save(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    void this.drafts.save(this.editor.code, () => this.editor.state()).then((kept) => {
      this.saved.textContent = kept ? t("saved", { time: clock(Date.now()) }) : t("not_saved");
    });
  }

  // --- Sharing ------------------------------------------------------------------------------------------------

  private async share(): Promise<void> {
    let address: string;
    try {
      address = await toAddress(location.href, this.editor.code);
    } catch (error) {
      if (!(error instanceof TooLong)) throw error;
      say(this.status, t("share_long", { length: error.length, most: MOST_ADDRESS }));
      return;
    }
    history.replaceState(null, "", address);
    const copied = await navigator.clipboard?.writeText(address).then(() => true, () => false);
    say(this.status, t(copied ? "share_copied" : "share_made"));
  }

  /** Code that came with the address: shown on request, never run, and never in place of one's own unasked. */
  private async offered(): Promise<void> {
    if (!location.hash.startsWith("#code=")) return;
    const code = await fromAddress(location.hash);
    if (code === null) {
      say(this.status, t(isNewer(location.hash) ? "share_newer" : "share_damaged"));
      return;
    }
    if (code === this.editor.code) return;
    const close = (): void => {
      this.note.hidden = true;
      history.replaceState(null, "", location.pathname + location.search);
    };
    const take = async (): Promise<void> => {
      await remember(this.store, KEY, this.editor.code, "share").catch(() => {});
      this.editor.code = code;
      this.save();
      close();
      this.editor.focus();
    };
    this.note.replaceChildren(
      icon("fault"),
      h("span", {}, t("share_offered", { lines: code.split("\n").length })),
      h("button", { class: "btn", type: "button", click: () => void take() }, t("share_take")),
      h("button", { class: "btn", type: "button", click: close }, t("share_leave")),
      h("details", { class: "source" }, h("summary", {}, t("share_look")), plainCode(t("share_look"), code)),
    );
    this.note.hidden = false;
  }

  // --- Running ------------------------------------------------------------------------------------------------

  private async run(): Promise<void> {
    if (this.runButton.getAttribute("aria-disabled") === "true") return;
    this.save();
    const half = halfCharacter(this.editor.code);
    if (half !== null) {
      say(this.status, h("span", { class: "wrong tinted" }, icon("wrong"), " ", t("half_character", { line: half })));
      this.editor.mark({ broke: [half] });
      return;
    }
    await this.busy(async (python) => {
      const out = h("pre", { class: "plain-code code", tabindex: "0", role: "region", "aria-label": t("printed") });
      this.output.replaceChildren(h("h2", { class: "sec" }, t("output")), out);
      const quiet = python.listen({ onOutput: (text) => out.append(text) });
      const report = await python.run(this.editor.code).finally(quiet);
      out.textContent = report.stdout;
      out.hidden = report.stdout === "";
      if (report.value !== null) this.output.append(h("p", { class: "small" }, t("value")), plainCode(t("value"), report.value));
      const line = report.cannot?.line ?? report.error?.line ?? null;
      this.end(report.cannot?.message[lang()] ?? report.error?.message[lang()] ?? null, report.stopped, report.seconds);
      this.editor.mark({ broke: line === null ? [] : [line] });
    });
  }

  private end(wrong: string | null, stopped: Stopped | null, seconds: number): void {
    const words = wrong ?? (stopped ? stoppedWords(stopped) : null);
    if (words) {
      this.output.append(h("p", { class: "wrong" }, h("span", { class: "tinted" }, icon("wrong")), " ", rich(words)));
      say(this.status, h("span", { class: "wrong tinted" }, icon("wrong"), " ", t("run_failed")));
    } else say(this.status, t("run_done", { ms: Math.round(seconds * 1000) }));
  }

  /** Do something with Python, with the buttons and the status as they should be meanwhile. */
  private async busy(work: (python: Runner) => Promise<void>): Promise<void> {
    this.runButton.setAttribute("aria-disabled", "true");
    this.stopButton.hidden = false;
    try {
      const python = await runner();
      if (!python) return;
      this.python = python;
      const quiet = python.listen({
        onState: (state) => sayState(this.status, state, t("run_running_code")),
      });
      await work(python).finally(quiet);
    } catch (error) {
      say(this.status, whyNot(error, this.python?.state));
    } finally {
      this.runButton.removeAttribute("aria-disabled");
      this.stopButton.hidden = true;
    }
  }

  // --- Generating ---------------------------------------------------------------------------------------------

  private generator(): HTMLElement {
    const field = (id: string, label: string, input: HTMLElement): HTMLElement => h("p", { class: "field" }, h("label", { for: id }, label), input);
    const prompts = h("textarea", { id: "prompts", rows: 3, "aria-describedby": "prompts-help" }, t("gen_prompts_first").replaceAll(" / ", "\n"));
    const number = (id: string, value: number, min: number, max: number, step: number): HTMLInputElement =>
      h("input", { id, type: "number", value, min, max, step, inputmode: "decimal" });
    const most = number("most", 32, 1, 128, 1);
    const heat = number("heat", 0, 0, 2, 0.1);
    const seed = number("seed", 1, 0, 2 ** 31 - 1, 1);
    const list = h("ol", { class: "streams" });
    const facts = h("p", { class: "small num" });
    const go = async (): Promise<void> => {
      if (this.runButton.getAttribute("aria-disabled") === "true") {
        say(this.status, t("runner_busy")); // what is being written stays where it is
        return;
      }
      const given = prompts.value.split("\n").map((each) => each.trim()).filter(Boolean).slice(0, 5);
      const bad = [most, heat, seed].find((each) => !each.checkValidity() || each.value === "");
      if (bad || !given.length) {
        (bad ?? prompts).focus();
        say(facts, t(bad ? "gen_bad" : "gen_empty"));
        return;
      }
      const rows = given.map((prompt, index) => streamRow(index, prompt, "", ""));
      list.replaceChildren(...rows.map((row) => row.element));
      facts.textContent = "";
      await this.busy(async (python) => {
        const quiet = python.listen({ onToken: ({ index, text }) => rows[index]?.out.append(text) });
        const report = await python
          .generate({ prompts: given, maxTokens: Number(most.value), temperature: Number(heat.value), seed: Number(seed.value) })
          .finally(quiet);
        report.texts.forEach((text, index) => {
          const row = rows[index];
          if (!row) return;
          row.out.textContent = text;
          const cached = report.cached[index] ?? 0;
          row.note.textContent = t(cached ? "stream_cached" : "stream_tokens", { n: report.tokens[index]?.length ?? 0, cached });
        });
        const wrong = report.error?.message[lang()] ?? report.cannot?.message[lang()] ?? (report.stopped ? stoppedWords(report.stopped) : null);
        say(facts, wrong ?? t("run_speed", { speed: report.tokensPerSecond.toFixed(0) }));
        say(this.status, "");
      });
    };
    return h(
      "section",
      { class: "generator", "aria-labelledby": "gen-h" },
      h("h2", { id: "gen-h", class: "sec" }, t("gen_head")),
      field("prompts", t("gen_prompts"), prompts),
      h("p", { class: "small", id: "prompts-help" }, t("gen_prompts_help")),
      h("div", { class: "fields" }, field("most", t("gen_most"), most), field("heat", t("gen_heat"), heat), field("seed", t("gen_seed"), seed)),
      h("p", { class: "acts" }, h("button", { class: "btn", type: "button", id: "generate", click: () => void go() }, icon("play"), t("gen_run"))),
      list,
      facts,
    );
  }
}

async function start(): Promise<void> {
  chrome();
  const store = await openStore();
  void showStanding(store, () => {});
  await new Playground(store).start(byId("playground"));
}

void start();
