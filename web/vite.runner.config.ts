import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// The runner alone as a module, for pages of tests and benchmarks; the site's pages have it in their own scripts.
export default defineConfig({
  publicDir: false,
  logLevel: "error",
  build: {
    emptyOutDir: true,
    target: "es2022",
    lib: { entry: at("src/runner/index.ts"), formats: ["es"], fileName: () => "runner.js" },
  },
});
