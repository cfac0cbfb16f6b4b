import { beforeEach, expect, test, vi } from "vitest";

const none = (): Response => new Response("<h1>404</h1>", { status: 404, headers: { "content-type": "text/html" } });
const some = (): Response => Response.json({ exercises: [], submissions: [], next: null });
const fetched = vi.fn<(url: string, options?: RequestInit) => Promise<Response>>();

/** The module anew, as each page has it. */
async function page(siteData: object | null = null): Promise<typeof import("../src/app/judge/client")> {
  vi.resetModules();
  document.body.innerHTML = siteData ? `<script type="application/json" id="site-data">${JSON.stringify(siteData)}</script>` : "";
  return import("../src/app/judge/client");
}

beforeEach(() => {
  fetched.mockReset();
  vi.stubGlobal("fetch", fetched);
});

test("a page finds out once that there is no judge; what is handed in is sent all the same", async () => {
  fetched.mockImplementation(async () => none());
  const client = await page();
  const names = await Promise.all([client.exercises(), client.submissions(192)].map((one) => one.catch((error: Error) => error.name)));
  expect(names).toEqual(["NoJudge", "NoJudge"]);
  await expect(client.submissions(192)).rejects.toThrow(client.NoJudge);
  expect(fetched).toHaveBeenCalledTimes(1);
  await expect(client.send(192, "code", "key")).rejects.toThrow(client.NoJudge);
  expect(fetched).toHaveBeenCalledTimes(2);
  fetched.mockImplementation(async () => some());
  await client.send(192, "code", "key"); // a judge was started
  await client.submissions(192);
  expect(fetched).toHaveBeenCalledTimes(4);
});

test("a judge that is there, or cannot be reached for now, is asked each time", async () => {
  fetched.mockImplementation(async () => some());
  let client = await page();
  await Promise.all([client.exercises(), client.submissions(192), client.submissions(193)]);
  expect(fetched).toHaveBeenCalledTimes(3);
  fetched.mockReset();
  fetched.mockImplementation(async () => {
    throw new TypeError("no network");
  });
  client = await page();
  for (let n = 0; n < 2; n += 1) await expect(client.exercises()).rejects.toThrow(client.Unreachable);
  expect(fetched).toHaveBeenCalledTimes(2);
});

test("a site built for a host without a judge does not ask at all", async () => {
  const client = await page({ lang: "en", exercises: [], runtime: false, animations: [], worker: false, judge: false });
  for (const one of [client.exercises(), client.submissions(192), client.send(192, "code", "key")]) {
    await expect(one).rejects.toThrow(client.NoJudge);
  }
  expect(fetched).not.toHaveBeenCalled();
});
