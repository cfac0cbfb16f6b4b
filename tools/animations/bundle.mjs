// Bundles one module after the other with what Vite ships. The file that the argument names holds {modules:
// [{entry, out, words}]}, `words` being what `virtual:words` exports. Nothing is shared between two results: each
// plays by itself.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const web = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "web");
const load = async (name) => import(pathToFileURL(createRequire(join(web, "package.json")).resolve(name)).href);
const { rolldown } = await load("rolldown");

const words = (given) => ({
  name: "words",
  resolveId: (id) => (id === "virtual:words" ? "\0virtual:words" : null),
  load: (id) => (id === "\0virtual:words" ? `export default ${JSON.stringify(given)};` : null),
});

for (const { entry, out, words: given } of JSON.parse(readFileSync(process.argv[2], "utf8")).modules) {
  const bundle = await rolldown({
    input: entry,
    plugins: [words(given)],
    resolve: { modules: [join(web, "node_modules")] },
    platform: "browser",
  });
  await bundle.write({ file: out, format: "esm", minify: true, codeSplitting: false });
  await bundle.close();
}
