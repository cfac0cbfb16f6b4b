/** What is kept on this device, as one file: out, in, or away. */

import { chrome } from "./chrome";
import { byId, download, h, icon, say } from "./dom";
import { dayOf } from "./lib/days";
import { exported, forget, merge, MOST_MB, NotImported, readChosen } from "./lib/exchange";
import { site } from "./site-data";
import { showStanding, stateOf } from "./standing";
import { openStore, type Store } from "./store/database";
import { t } from "./words";

async function importFile(store: Store, file: File): Promise<string> {
  const changed = await merge(store, await readChosen(file));
  return t(changed ? "imported" : "imported_nothing", { n: changed });
}

async function start(): Promise<void> {
  chrome();
  const store = await openStore();
  const status = h("p", { id: "status", role: "status" });
  const summary = h("dl", { class: "facts-list num" });
  const redraw = await showStanding(store, (known) => {
    void Promise.all([store.all("drafts"), store.all("tries"), store.all("cards")]).then(([drafts, tries, cards]) => {
      const passed = site.exercises.filter((id) => stateOf(known, id) === "accepted").length;
      const rows: [string, string][] = [
        [t("kept_passed"), `${passed} / ${site.exercises.length}`],
        [t("kept_drafts"), String(drafts.length)],
        [t("kept_tries"), String(tries.length)],
        [t("kept_cards"), String(cards.length)],
      ];
      summary.replaceChildren(...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
    });
  });
  const save = async (): Promise<void> => {
    const now = new Date();
    download(`minisgl-progress-${dayOf(now)}.json`, await exported(store, now.toISOString()), "application/json");
    say(status, t("exported"));
  };
  const file = h("input", { type: "file", id: "file", accept: ".json,application/json", class: "vh", tabindex: "-1", "aria-label": t("import") });
  file.addEventListener("change", () => {
    const chosen = file.files?.[0];
    if (!chosen) return;
    void importFile(store, chosen)
      .then((words) => say(status, h("span", { class: "ok tinted" }, icon("ok"), " ", words)))
      .catch((error: unknown) => {
        const why = error instanceof NotImported ? error.why : "damaged";
        say(status, h("span", { class: "wrong tinted" }, icon("wrong"), " ", t(`import_${why}`, { mb: MOST_MB })));
      })
      .finally(() => {
        file.value = "";
        void redraw();
      });
  });
  const away = async (): Promise<void> => {
    if (!confirm(t("forget_ask"))) return;
    await forget(store);
    for (const key of Object.keys(localStorage)) if (key.startsWith("minisgl:")) localStorage.removeItem(key);
    say(status, t("forgotten"));
    await redraw();
  };
  byId("progress").replaceChildren(
    store.lasting ? "" : h("p", { class: "banner" }, icon("fault"), h("span", {}, t("not_lasting"))),
    summary,
    h(
      "p",
      { class: "acts" },
      h("button", { class: "btn main", type: "button", id: "export", click: () => void save() }, icon("down"), t("export")),
      h("button", { class: "btn", type: "button", id: "import", click: () => file.click() }, icon("up"), t("import")),
      file,
    ),
    status,
    h("p", { class: "small" }, t("import_help")),
    h("h2", {}, t("forget_head")),
    h("p", {}, t("forget_text")),
    h("p", { class: "acts" }, h("button", { class: "btn", type: "button", id: "forget", click: () => void away() }, t("forget"))),
  );
}

void start();
