import { expect, test } from "vitest";
import { decode, encode, fromAddress, isNewer, MOST_ADDRESS, toAddress, TooLong } from "../src/app/lib/share";

const PAGE = "https://example.org/en/playground/#old";
const hash = (address: string): string => address.slice(address.indexOf("#"));

test("code goes into an address and comes back", async () => {
  for (const code of ["", "print('a')\n", "中文 # 注释\n\tx = 1\n", "x".repeat(20_000), "\u0000\u2028"]) {
    const address = await toAddress(PAGE, code);
    expect(address.startsWith("https://example.org/en/playground/#code=1.")).toBe(true);
    expect(address).toMatch(/^[\x21-\x7e]+$/);
    expect(await fromAddress(hash(address))).toBe(code);
  }
});

test("an address that would be cut on its way is refused with its length", async () => {
  let state = 7;
  const noise = Array.from({ length: 12_000 }, () => String.fromCharCode(33 + ((state = (state * 48271) % 2147483647) % 90))).join("");
  await expect(toAddress(PAGE, noise)).rejects.toThrow(TooLong);
  expect((await toAddress(PAGE, "x = 1\n".repeat(500))).length).toBeLessThan(MOST_ADDRESS);
});

test("what is no code, damaged or a bomb is nothing", async () => {
  const good = hash(await toAddress(PAGE, "print('a')\n".repeat(20)));
  for (const bad of ["", "#", "#code=", "#code=2.AAAA", "#code=1.", "#code=1.!!!", good.slice(0, -8), `${good.slice(0, -3)}AAA`, `#code=1.${"A".repeat(50_000)}`]) {
    expect(await fromAddress(bad)).toBeNull();
  }
  const bomb = await new Response(new Blob(["0".repeat(5_000_000)]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer();
  expect(await fromAddress(`#code=1.${encode(new Uint8Array(bomb))}`)).toBeNull();
});

test("a link of a newer form is told from a damaged one", async () => {
  expect(["#code=2.", "#code=2.AAAA", "#code=17.x"].map(isNewer)).toEqual([true, true, true]);
  for (const other of ["", "#code=", "#code=1.", "#code=1.!!!", "#code=0.AAAA", "#code=two.AAAA", hash(await toAddress(PAGE, "x"))]) {
    expect(isNewer(other), other).toBe(false);
  }
});

test("base64url keeps every byte", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
  expect(decode(encode(bytes))).toEqual(bytes);
  expect(encode(bytes)).not.toMatch(/[+/=]/);
});
