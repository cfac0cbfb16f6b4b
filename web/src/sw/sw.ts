/**
 * The service worker: the site without a network, after the first visit.
 *
 * What has a hash in its name is taken from the cache; everything else comes from the network while there is one,
 * so a new version of the site shows at the next page and never reloads one that somebody types in. `precache.json`
 * (tools/runtime/offline.py) names all files with their hashes: those of the language that is read are fetched in
 * the background, what has changed anew. The judge's API is never touched.
 */
import { Store } from "./store";

declare const self: ServiceWorkerGlobalScope;

const scope = new URL(self.registration.scope);
const store = new Store(scope);

/** A server that is there but silent counts as none after this. */
const PATIENCE_MS = 4000;
const OTHERS = /^(api|healthz|readyz|metrics|docs|openapi\.json)(\/|$)/;
const HASHED = /-[0-9A-Za-z_-]{8,}\.[a-z0-9.]+$/;

self.addEventListener("install", (event) => {
  event.waitUntil(self.skipWaiting());
});

self.addEventListener("activate", (event) => {
  event.waitUntil(self.clients.claim());
});

/** A first page, which was there before this worker. Not done while it activates: the page's own requests wait for that. */
self.addEventListener("message", (event) => {
  if (event.source instanceof WindowClient) event.waitUntil(store.refresh(languageOf(pathOf(event.source.url) ?? "")));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const path = pathOf(request.url);
  if (request.method !== "GET" || path === null || OTHERS.test(path) || request.headers.has("range")) return;
  if (request.cache === "only-if-cached" && request.mode !== "same-origin") return;
  event.respondWith(HASHED.test(path) ? cached(request) : fresh(request));
  if (request.mode === "navigate") event.waitUntil(store.refresh(languageOf(path)));
});

/** A file that never changes under its name. */
async function cached(request: Request): Promise<Response> {
  const found = await store.find(request.url);
  if (found !== undefined) return found;
  const response = await fetch(request);
  await store.keep(request.url, response);
  return response;
}

/** From the network, and from the cache where that does not answer. */
async function fresh(request: Request): Promise<Response> {
  const found = await store.find(request.url);
  try {
    const response = await (found === undefined ? fetch(request) : inTime(fetch(request)));
    if (response.status >= 500 && found !== undefined) return isolated(request, found);
    await store.keep(request.url, response);
    return isolated(request, response);
  } catch (error) {
    if (found !== undefined) return isolated(request, found);
    throw error;
  }
}

function inTime(response: Promise<Response>): Promise<Response> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no answer")), PATIENCE_MS);
    response.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/**
 * On a host that cannot set headers: documents share memory with Python's worker only if they are isolated, and an
 * isolated document starts only workers that are (the search has one).
 */
function isolated(request: Request, response: Response): Response {
  if (request.mode !== "navigate" && request.destination !== "worker") return response;
  if (response.type === "opaqueredirect" || response.redirected) return response;
  if (response.headers.has("cross-origin-embedder-policy")) return response;
  const headers = new Headers(response.headers);
  headers.set("cross-origin-opener-policy", "same-origin");
  headers.set("cross-origin-embedder-policy", "require-corp");
  const { status, statusText } = response;
  return new Response(response.body, { headers, status, statusText });
}

/** Below the site's folder, or null. */
function pathOf(address: string): string | null {
  const url = new URL(address);
  if (url.origin !== scope.origin || !url.pathname.startsWith(scope.pathname)) return null;
  return url.pathname.slice(scope.pathname.length);
}

function languageOf(path: string): string | null {
  return /^(?:book\/)?(zh|en)(?:\/|$)/.exec(path)?.[1] ?? null;
}
