import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { catalogue } from "./catalogue.ts";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const APP = ["site", "exercise", "map", "inline", "playground", "cards", "progress"];
const input = Object.fromEntries(APP.map((name) => [name, source(`src/app/${name}.ts`)]));
const worker = source("src/sw/sw.ts");
if (existsSync(worker)) input.sw = worker;

// Entries keep their names, so that pages built elsewhere (the book's) can name them; the rest has hashes.
export default defineConfig({
  base: "./",
  publicDir: false,
  plugins: [catalogue],
  build: {
    outDir: "../build/app",
    emptyOutDir: true,
    target: "es2022",
    manifest: true,
    modulePreload: { polyfill: false },
    sourcemap: false,
    rollupOptions: {
      input,
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "chunks/[name]-[hash].js",
        assetFileNames: "files/[name]-[hash][extname]",
      },
    },
  },
});
