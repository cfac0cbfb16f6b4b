/** Study cards: one at a time, answered with a key, and the whole deck as a file for Anki. */

import { chrome } from "./chrome";
import { byId, download, h, icon } from "./dom";
import { ankiText, type Card } from "./lib/anki";
import { addDays, dayOf } from "./lib/days";
import { type Answer, answered, fresh, queue } from "./lib/memory";
import { at } from "./site-data";
import { showStanding } from "./standing";
import { openStore, type Store } from "./store/database";
import type { CardState } from "./store/tables";
import { lang, t } from "./words";

const NEW_A_DAY = 20;
const ANSWERS: readonly Answer[] = ["again", "hard", "good", "easy"];

class Deck {
  private states = new Map<string, CardState>();
  private waiting: string[] = [];
  private turned = false;
  private readonly today = dayOf(new Date());

  constructor(
    private readonly store: Store,
    private readonly cards: Card[],
    private readonly box: HTMLElement,
  ) {}

  async start(): Promise<void> {
    this.states = new Map((await this.store.all("cards")).map((one) => [one.key, one]));
    this.waiting = queue(this.cards.map((one) => one.key), this.states, this.today, NEW_A_DAY);
    document.addEventListener("keydown", (event) => this.onKey(event));
    this.draw(false);
  }

  private get card(): Card | null {
    return this.cards.find((one) => one.key === this.waiting[0]) ?? null;
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const target = event.target as HTMLElement;
    if (target.closest("a, button, summary, input") && (event.key === " " || event.key === "Enter")) return;
    const answer = ANSWERS[Number(event.key) - 1];
    if (!this.turned && (event.key === " " || event.key === "Enter") && this.card) {
      event.preventDefault();
      this.turn();
    } else if (this.turned && answer) void this.answer(answer);
  }

  private turn(): void {
    this.turned = true;
    this.draw(true);
  }

  private async answer(answer: Answer): Promise<void> {
    const key = this.waiting.shift();
    if (key === undefined) return;
    const state = answered(this.states.get(key) ?? fresh(key, this.today), answer, this.today);
    this.states.set(key, state);
    if (state.due <= this.today) this.waiting.push(key);
    this.turned = false;
    this.draw(true);
    await this.store.put("cards", state).catch(() => {});
  }

  private draw(moved: boolean): void {
    const { card } = this;
    this.box.replaceChildren(card ? this.front(card) : this.done(), this.foot());
    if (moved) this.box.querySelector<HTMLElement>(this.turned ? ".answer" : ".ask")?.focus();
  }

  private front(card: Card): HTMLElement {
    const page = at(`book/${lang()}/${card.chapter}.html`);
    return h(
      "article",
      { class: "card", "aria-label": t("card") },
      h("p", { class: "small num" }, h("a", { href: page }, t("card_chapter", { n: Number(card.chapter.slice(0, 2)) })), ` · ${t("card_left", { n: this.waiting.length })}`),
      html("div", "ask", card.question),
      this.turned
        ? html("div", "answer", card.answer)
        : h("p", { class: "acts" }, h("button", { class: "btn main", type: "button", id: "turn", click: () => this.turn() }, t("card_turn"), h("kbd", {}, t("key_space")))),
      this.turned ? this.answers(card) : null,
    );
  }

  private answers(card: Card): HTMLElement {
    const state = this.states.get(card.key) ?? fresh(card.key, this.today);
    return h(
      "p",
      { class: "acts answers", role: "group", "aria-label": t("card_how") },
      ANSWERS.map((answer, index) => {
        const { interval } = answered(state, answer, this.today);
        const when = interval === 0 ? t("card_today") : t("card_days", { n: interval });
        return h("button", { class: "btn", type: "button", "data-answer": answer, click: () => void this.answer(answer) }, t(`card_${answer}`), h("span", { class: "small num" }, when), h("kbd", {}, String(index + 1)));
      }),
    );
  }

  private done(): HTMLElement {
    const next = [...this.states.values()].map((one) => one.due).filter((due) => due > this.today).sort()[0];
    const words = next ? t(next === addDays(this.today, 1) ? "cards_tomorrow" : "cards_next", { day: next }) : "";
    return h("article", { class: "card" }, h("p", { class: "ask", tabindex: "-1" }, t(this.cards.length ? "cards_done" : "cards_none")), words ? h("p", {}, words) : null);
  }

  private foot(): HTMLElement {
    const save = (): void => download(`minisgl-${lang()}.txt`, ankiText(this.cards, t("anki_deck")), "text/plain");
    const seen = [...this.states.values()].filter((one) => this.cards.some((card) => card.key === one.key)).length;
    return h(
      "footer",
      { class: "cards-foot" },
      h("p", { class: "small num" }, t("cards_count", { total: this.cards.length, seen })),
      this.cards.length ? h("p", { class: "acts" }, h("button", { class: "btn", type: "button", id: "anki", click: save }, icon("down"), t("anki")), h("span", { class: "small" }, t("anki_help"))) : null,
    );
  }
}

/** HTML of our own build, made from the chapters with raw HTML escaped (tools/site/cards.py). */
function html(tag: "div", name: string, text: string): HTMLElement {
  const element = h(tag, { class: name, tabindex: "-1" });
  element.append(document.createRange().createContextualFragment(text));
  return element;
}

async function start(): Promise<void> {
  chrome();
  const store = await openStore();
  void showStanding(store, () => {});
  const box = byId("cards");
  try {
    const answer = await fetch(at(`assets/cards.${lang()}.json`));
    await new Deck(store, (await answer.json()) as Card[], box).start();
  } catch {
    box.replaceChildren(h("p", {}, t("cards_error")));
  }
}

void start();
