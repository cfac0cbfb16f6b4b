import { readFileSync } from "node:fs";
import type { Plugin } from "vite";

const NAME = "virtual:words/";

/**
 * `virtual:words/SECTION`: `{ zh, en }` with a section of i18n/{zh,en}.toml, so that scripts say what the one
 * catalogue has. Its entries are of one line, `name = "text"`, and TOML writes such a text as JSON does.
 */
export const catalogue: Plugin = {
  name: "catalogue",
  resolveId: (id) => (id.startsWith(NAME) ? `\0${id}` : null),
  load(id) {
    if (!id.startsWith(`\0${NAME}`)) return null;
    const section = id.slice(NAME.length + 1);
    const [zh, en] = ["zh", "en"].map((lang) => {
      const file = new URL(`../i18n/${lang}.toml`, import.meta.url);
      this.addWatchFile(file.pathname);
      return words(readFileSync(file, "utf8"), section);
    });
    return `export default ${JSON.stringify({ zh, en })}`;
  },
};

function words(toml: string, section: string): Record<string, string> {
  const body = toml.split(/^\[/m).find((part) => part.startsWith(`${section}]\n`));
  if (body === undefined) throw new Error(`i18n has no section [${section}]`);
  const entries = [...body.matchAll(/^(\w+) = (".*")$/gm)];
  return Object.fromEntries(entries.map(([, name, text]) => [name, JSON.parse(text as string) as string]));
}
