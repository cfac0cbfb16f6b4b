"""How long Python in the tab takes, in a real Chromium on localhost: `python benchmarks/tab.py`.

Cold is a browser with an empty profile, warm the same browser at its next visit. Times are of the wall clock,
from the page's call; the browser's CPU seconds stand beside them, which say more on a busy machine.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "web")]

from runner_site import RunnerPage, StaticSite, make_site, spec  # noqa: E402

from judge.exercises import find  # noqa: E402
from judge.solution import solution_text  # noqa: E402

CHROMIUM = "/usr/bin/chromium"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
PROMPTS = ["什么是页？", "What is a page?", "什么是前缀缓存？", "How are you?"]
TOKENS = 64
ROUNDS = 3


def threads() -> dict[str, float]:
    """CPU seconds of each thread of the renderers below this program."""
    found: dict[str, float] = {}
    for process in _descendants(os.getpid()):
        for stat in Path(f"/proc/{process}/task").glob("*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[str(stat)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def _descendants(root: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        parents.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(stat.parent.name))
    found, waiting = [], [root]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def timed(action: Any) -> tuple[Any, str]:
    """What the action gives, and its wall and CPU seconds."""
    before, wall = threads(), time.perf_counter()
    result = action()
    wall = time.perf_counter() - wall
    cpu = sum(seconds - before.get(thread, 0.0) for thread, seconds in threads().items())
    return result, f"{wall:6.2f} s  (CPU {cpu:5.2f} s)"


def visit(context: BrowserContext, site: StaticSite, name: str) -> None:
    """One visit: to Python with numpy and torch, to the first sample, to the model, tokens a second."""
    page = RunnerPage(context, site.url)
    exercise = find("192")
    code = solution_text(exercise)
    _, took = timed(lambda: page.call("warm"))
    steps = [event for event in page.events("state") if event["phase"] == "loading"]
    print(f"{name}: Python, numpy, torch and engine  {took}  ({len(steps)} states)")
    report, took = timed(lambda: page.samples(exercise, code))
    assert all(result["ok"] for result in report["results"]), report
    print(f"{name}: samples of 192, first run         {took}")
    _, took = timed(lambda: page.samples(exercise, code))
    print(f"{name}: samples of 192, again             {took}")
    _, took = timed(lambda: page.call("warm", "model"))
    print(f"{name}: bundled model                     {took}")
    for prompts in (PROMPTS[:1], PROMPTS):
        for _ in range(ROUNDS):
            request: dict[str, Any] = {"prompts": prompts, "maxTokens": TOKENS, "chat": True}
            with_own = {**request, "exercise": spec(exercise), "code": code}
            report, took = timed(lambda asked=with_own: page.generate(asked))
            assert report["tokensEqual"], report
            count = sum(map(len, report["tokens"]))
            speed = f"{report['tokensPerSecond']:5.1f} token/s"
            print(f"{name}: {len(prompts)} prompts, {count} tokens            {took}  {speed}")
    page.page.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        make_site(Path(folder))
        site = StaticSite(Path(folder))
        site.start()
        manifest = json.loads((Path(folder) / "assets/runtime/manifest.json").read_text())
        sizes = {name: entry["bytes"] for name, entry in manifest["files"].items()}
        sizes["model"] = sum(entry["bytes"] for entry in manifest["model"])
        print("transfer, kB:", ", ".join(f"{name} {size / 1000:.0f}" for name, size in sizes.items()))
        print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
            context = playwright.chromium.launch_persistent_context(
                profile, executable_path=CHROMIUM, args=list(FLAGS)
            )
            for name in ("cold", "warm"):
                visit(context, site, name)
            context.close()
        print(f"load of the machine after: {os.getloadavg()[0]:.1f}")
        site.stop()


if __name__ == "__main__":
    main()
