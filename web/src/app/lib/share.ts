/**
 * Code in an address: compressed, in the fragment, which no browser sends to a server.
 *
 * `#code=1.` and then the deflated UTF-8 in base64url. The number is the version of this format.
 */

const VERSION = 1;
const MARK = `#code=${VERSION}.`;
/** Longer addresses are cut by chat programs and refused by some browsers. */
export const MOST_ADDRESS = 8000;
const MOST_CODE = 200_000;

export class TooLong extends Error {
  override name = "TooLong";
  constructor(readonly length: number) {
    super(`${length} characters`);
  }
}

/** The address of `page` with `code` in it. */
export async function toAddress(page: string, code: string): Promise<string> {
  const address = page.split("#")[0] + MARK + encode(await deflate(new TextEncoder().encode(code)));
  if (address.length > MOST_ADDRESS) throw new TooLong(address.length);
  return address;
}

/** Whether the code is in a form that a newer site has written. */
export function isNewer(hash: string): boolean {
  const found = /^#code=(\d{1,9})\./.exec(hash);
  return found !== null && Number(found[1]) > VERSION;
}

/** The code in an address; null where there is none, or what stands there is damaged or far too large. */
export async function fromAddress(hash: string): Promise<string | null> {
  if (!hash.startsWith(MARK) || hash.length > 4 * MOST_ADDRESS) return null;
  try {
    const bytes = await inflate(decode(hash.slice(MARK.length)));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

export function encode(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function decode(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

const through = (bytes: Uint8Array<ArrayBuffer>, stream: GenericTransformStream): ReadableStream<Uint8Array> =>
  new Blob([bytes]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array, Uint8Array<ArrayBuffer>>);

async function deflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(through(bytes, new CompressionStream("deflate-raw"))).arrayBuffer());
}

/** Stops at a size that no code has, so that a small address cannot fill the memory. */
async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const reader = through(bytes, new DecompressionStream("deflate-raw")).getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > MOST_CODE) {
      await reader.cancel();
      throw new TooLong(length);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
