/** The runtime's files, fetched by the page, so that HTTP cache and service worker serve them. */

export interface Asset {
  file: string;
  bytes: number;
  integrity: string;
}

/** `manifest.json`, which tools/runtime/build.py writes. */
export interface Manifest {
  files: Record<"worker" | "wasm" | "stdlib" | "numpy" | "engine", Asset>;
  model: (Asset & { path: string })[];
}

export class AssetsMissing extends Error {
  override name = "AssetsMissing";
}

export async function fetchManifest(base: string): Promise<Manifest> {
  const response = await fetch(new URL("manifest.json", base), { cache: "no-cache" });
  if (!response.ok) throw new AssetsMissing(`manifest.json: ${response.status}`);
  return (await response.json()) as Manifest;
}

/** Fetch files at the same time; `onProgress` gets the bytes of all of them together. With one that fails all end. */
export async function fetchAssets(
  base: string,
  assets: readonly Asset[],
  onProgress: (loaded: number, total: number) => void,
): Promise<ArrayBuffer[]> {
  const total = assets.reduce((sum, asset) => sum + asset.bytes, 0);
  let loaded = 0;
  const end = new AbortController();
  return Promise.all(
    assets.map(async ({ file, bytes, integrity }) => {
      const response = await fetch(new URL(file, base), { signal: end.signal });
      if (!response.ok || response.body === null) throw new AssetsMissing(`${file}: ${response.status}`);
      const whole = new Uint8Array(bytes);
      let offset = 0;
      const reader = response.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) {
          await check(file, whole, integrity);
          return whole.buffer;
        }
        if (offset + value.length > bytes) throw new AssetsMissing(`${file}: more than ${bytes} bytes`);
        whole.set(value, offset);
        offset += value.length;
        loaded += value.length;
        if (!end.signal.aborted) onProgress(loaded, total);
      }
    }),
  ).catch((error: unknown) => {
    end.abort();
    throw error;
  });
}

/** Here and not with the request, which would then bring nothing before it has brought all. */
async function check(file: string, bytes: BufferSource, integrity: string): Promise<void> {
  if (!isSecureContext) return; // without https the browser has no hash function
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  if (`sha256-${btoa(String.fromCharCode(...digest))}` !== integrity) {
    throw new AssetsMissing(`${file} is not the file that manifest.json names; reload the page`);
  }
}
