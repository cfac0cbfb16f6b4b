import { expect, test, vi } from "vitest";
import { fetchAssets } from "../src/runner/assets";

const asset = (file: string) => ({ file, bytes: 4, integrity: "" });

test("where one file fails, the others end and tell of no more progress", async () => {
  let go = (): void => {};
  const late = new Promise<void>((resolve) => (go = resolve));
  const signals: AbortSignal[] = [];
  vi.stubGlobal("isSecureContext", false);
  vi.stubGlobal("fetch", async (url: URL, { signal }: { signal: AbortSignal }) => {
    signals.push(signal);
    if (url.pathname.endsWith("gone")) return new Response("", { status: 404 });
    const body = new ReadableStream({
      async pull(controller) {
        await late;
        controller.enqueue(new Uint8Array(4));
        controller.close();
      },
    });
    return new Response(body);
  });
  const progress = vi.fn();
  await expect(fetchAssets("https://example.org/", [asset("slow"), asset("gone")], progress)).rejects.toThrow("gone: 404");
  expect(signals.every((signal) => signal.aborted)).toBe(true);
  go();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(progress).not.toHaveBeenCalled();
  const both = await fetchAssets("https://example.org/", [asset("one"), asset("two")], progress);
  expect(both.map((one) => one.byteLength)).toEqual([4, 4]);
  expect(progress).toHaveBeenLastCalledWith(8, 8);
});
