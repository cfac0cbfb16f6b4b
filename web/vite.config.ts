import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const entry = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// Entries keep their names, so that pages built elsewhere (the book's) can name them; the rest has hashes.
export default defineConfig({
  base: "./",
  publicDir: false,
  build: {
    outDir: "../build/app",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    rollupOptions: {
      input: { site: entry("src/app/site.ts"), exercise: entry("src/app/exercise.ts") },
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "chunks/[name]-[hash].js",
        assetFileNames: "files/[name]-[hash][extname]",
      },
    },
  },
});
