import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { catalogue } from "./catalogue.ts";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// Runner and service worker alone, for tests and benchmarks; the site has them among its own scripts.
export default defineConfig({
  publicDir: false,
  plugins: [catalogue],
  logLevel: "error",
  build: {
    emptyOutDir: true,
    target: "es2022",
    lib: {
      entry: { runner: at("src/runner/index.ts"), sw: at("src/sw/sw.ts") },
      formats: ["es"],
      fileName: (_format, name) => `${name}.js`,
    },
  },
});
