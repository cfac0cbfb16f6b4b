"""How fast the exercise page is there: LCP, CLS, blocking time, bytes, over several loads in a Chromium.

    python -m benchmarks.site [URL] [--loads 5] [--slow 4]

URL is an exercise page of a running site (make run); `--slow 4` is a CPU as slow as a phone's.
"""

from __future__ import annotations

import argparse
import os
import statistics
from typing import Any

from playwright.sync_api import sync_playwright

WATCH = """
window.seen = { lcp: 0, cls: 0, tbt: 0, fcp: 0 };
const watch = (type, add) =>
  new PerformanceObserver((list) => list.getEntries().forEach(add)).observe({ type, buffered: true });
watch('largest-contentful-paint', (entry) => { seen.lcp = entry.startTime; });
watch('layout-shift', (entry) => { if (!entry.hadRecentInput) seen.cls += entry.value; });
watch('longtask', (entry) => { seen.tbt += Math.max(0, entry.duration - 50); });
watch('paint', (entry) => { if (entry.name === 'first-contentful-paint') seen.fcp = entry.startTime; });
"""
BYTES = """() => performance.getEntriesByType('resource').reduce((sum, one) => sum + one.encodedBodySize,
  performance.getEntriesByType('navigation')[0].encodedBodySize)"""
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


def load(browser: Any, url: str, slow: float, *, warm: bool) -> dict[str, float]:
    """One visit with an empty cache, or with that of a visit before."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, service_workers="block")
    page = context.new_page()
    if warm:
        page.goto(url, wait_until="networkidle")
        page.close()
        page = context.new_page()
    page.add_init_script(WATCH)
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slow})
    page.goto(url, wait_until="load")
    page.wait_for_selector("#code .cm-content")
    page.wait_for_load_state("networkidle")
    seen: dict[str, float] = page.evaluate("seen")
    seen["kB"] = page.evaluate(BYTES) / 1024
    context.close()
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("url", nargs="?", default="http://127.0.0.1:8000/en/exercises/192/")
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--slow", type=float, default=1.0)
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
        print(f"{options.url}, {options.loads} loads, CPU {options.slow:g} times slower, median (worst)")
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        for warm in (False, True):
            runs = [load(browser, options.url, options.slow, warm=warm) for _ in range(options.loads)]
            told = []
            for name, unit, digits in (
                ("fcp", "ms", 0),
                ("lcp", "ms", 0),
                ("tbt", "ms", 0),
                ("cls", "", 3),
                ("kB", "", 0),
            ):
                values = [run[name] for run in runs]
                middle, worst = statistics.median(values), max(values)
                told.append(f"{name.upper()} {middle:.{digits}f} ({worst:.{digits}f}) {unit}".strip())
            print(f"{'warm' if warm else 'cold'}: " + ", ".join(told))
        browser.close()


if __name__ == "__main__":
    main()
