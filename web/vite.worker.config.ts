import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Pyodide tries whether it may import scripts. Here it may not; asking fills Firefox's console with violations of the policy. */
const withoutProbe: Plugin = {
  name: "without-probe",
  enforce: "pre",
  transform(code, id) {
    if (!/\/pyodide(\.asm)?\.mjs$/.test(id)) return null;
    const probe = 'try{return globalThis.importScripts("data:text/javascript,"),!0}catch{return!1}';
    if (!code.includes(probe)) this.error(`${id}: the probe reads otherwise in this version of Pyodide`);
    return { code: code.replace(probe, "return!1"), map: null };
  },
};

/** Pyodide names its WebAssembly relative to itself. Here it is told where that is, and Vite need not inline it. */
const withoutOwnAddress: Plugin = {
  name: "without-own-address",
  enforce: "pre",
  transform(code, id) {
    if (!id.endsWith("/pyodide.asm.mjs")) return null;
    const named = code.replace('new URL("pyodide.asm.wasm",import.meta.url).href', '"pyodide.asm.wasm"');
    return { code: named.replaceAll("import.meta.url", "undefined"), map: null };
  },
};

// One classic script with Pyodide in it: the page hands it as text to the sandboxed frame (src/runner).
export default defineConfig({
  publicDir: false,
  logLevel: "error",
  plugins: [withoutProbe, withoutOwnAddress],
  build: {
    outDir: at("../build/worker"),
    emptyOutDir: true,
    target: "es2022",
    lib: { entry: at("src/runner/worker/main.ts"), formats: ["iife"], name: "worker", fileName: () => "worker.js" },
    rollupOptions: { external: [/^node:/, "ws"], onwarn: () => {} },
  },
});
