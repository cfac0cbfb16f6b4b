"""Two small exercises, and a judge that does what the submitted text says: no torch, no sandbox."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from judge.exercises import Exercise
from judge.types import (
    EngineResult,
    Event,
    Generated,
    GroupResult,
    RunResult,
    SampleResult,
    Verdict,
)

TOML = """
id = {id}
slug = "{slug}"
chapter = "{chapter}"
level = "easy"
points = 10
minutes = 5
form = "write"
place = "adapter"
target = "{slug}"
browser = "all"

[title]
zh = "把一个数加倍"
en = "Double a number"

[[rules]]
number = 1
zh = "结果是 `x` 的两倍。"
en = "The result is twice `x`."

[[hints]]
zh = "乘以二。"
en = "Multiply by two."

[[hints]]
zh = "写 `return 2 * x`。"
en = "Write `return 2 * x`."
"""
STATEMENT = """# {title}

<script>alert(1)</script> [x](javascript:alert(1)) `code`

| a | b |
| --- | --- |
| 1 | 2 |
"""
SOLUTION = '''"""Reference."""


def {slug}(x: int) -> int:
    """Twice `x`."""
    # hint: 乘以二 | multiply by two
    return 2 * x
'''
SAMPLES = '''def test_two(target):
    """二
    Two"""
    assert target(2) == 4
'''


def make_site(root: Path) -> Path:
    """A site as `make site` builds it, as small as can be, below `root`."""
    pages = {
        f"{lang}/{path}index.html": "the page" for lang in ("zh", "en") for path in ("", "exercises/176/")
    }
    messages = {f"{lang}/{why}.html": f"<h1>{why}</h1>" for lang in ("zh", "en") for why in _MESSAGES}
    files = {
        "assets/app/site.js": "export {};",
        "assets/app/chunks/desk-0123456789.js": "export {};",
        "assets/styles/site-0123456789.css": "body {}",
        "assets/runtime/manifest.json": "{}",
        "assets/mark.svg": "<svg/>",
        "assets/exercises/192.json": "{}",
        "zh/exercises/index.html": "the list",
        "book/zh/index.html": "the book",
        "book/zh/04_kvcache.html": "chapter 4",
    }
    for name, text in (pages | messages | files).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


_MESSAGES = ("not_found", "fault", "no_book")


def make_course(root: Path) -> Path:
    """Write the exercises 176 `double` and 192 `treble` below `root`."""
    for number, slug, chapter in ((176, "double", "04_kvcache"), (192, "treble", "08_cache_manager")):
        folder = root / "chapters" / "exercises" / f"{number}_{slug}"
        folder.mkdir(parents=True)
        (folder / "exercise.toml").write_text(TOML.format(id=number, slug=slug, chapter=chapter), "utf-8")
        (folder / "zh.md").write_text(STATEMENT.format(title="把一个数加倍"), "utf-8")
        (folder / "en.md").write_text(STATEMENT.format(title="Double a number"), "utf-8")
        (folder / "samples.py").write_text(SAMPLES, "utf-8")
        (root / "solutions").mkdir(exist_ok=True)
        (root / "solutions" / f"{number}_{slug}.py").write_text(SOLUTION.format(slug=slug), "utf-8")
    return root


def answer(exercise: Exercise, verdict: Verdict, *, samples_only: bool = False) -> RunResult:
    """A result as the judge gives it."""
    good = verdict is Verdict.AC
    result = RunResult(
        exercise.id, exercise.slug, verdict, 1.0 if good else 0.4, {"zh": "结果 `x`。", "en": "Result `x`."}
    )
    result.isolation, result.seconds, result.memory_mb = "namespaces", 0.25, 18.0
    title = {"zh": "二", "en": "Two"}
    result.samples = [SampleResult("test_two", good, title, 4, "assert target(2) == 4", "4", "5", title)]
    if samples_only:
        return result
    groups = {"zh": "单独", "en": "alone"}
    result.groups = [GroupResult("alone", groups, verdict, result.score, 0.1, 6 if good else 2, 6)]
    if good:
        texts = [Generated("A page", " holds tokens.", 4, 2)]
        result.engine = EngineResult(
            Verdict.AC, " holds tokens.", texts, True, 4, 4, True, True, 18, 6, 12, 0.98, "minisgl-tiny"
        )
        result.trace = [{"v": 1, "seq": 0, "type": "queued"}]
    else:
        result.rule = 1
    return result


class ScriptedJudge:
    """Reads its orders in the submitted text.

    `pass`, `wrong`: that verdict. `crash`: a defect of the judge. `fault`: verdict SE. `hold`: writes the
    file `started-<n>` into `folder` and goes on when there is a file `go`; then as `pass`. `stream`: holds
    after the text.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(
        self,
        exercise: Exercise,
        source: bytes,
        *,
        seed: bytes,
        samples_only: bool,
        on_event: Callable[[Event], None],
    ) -> RunResult:
        order = source.split()[0].decode()
        on_event(Event("running", {}))
        if order == "crash":
            raise RuntimeError("a defect of the judge")
        if order == "hold":
            self._hold()
        verdict = {"wrong": Verdict.WA, "fault": Verdict.SE}.get(order, Verdict.AC)
        on_event(Event("group", {"number": 1, "groups": 1, "name": "alone", "verdict": verdict.value}))
        if verdict is Verdict.AC and not samples_only:
            on_event(Event("engine", {"phase": "run"}))
            for text in (" holds", " tokens", "."):
                on_event(Event("token", {"request": 0, "text": text, "prompt": "A page"}))
            on_event(Event("engine", {"phase": "end"}))
        if order == "stream":
            self._hold()
        result = answer(exercise, verdict, samples_only=samples_only)
        on_event(Event("verdict", result.to_json()))
        return result

    def _hold(self) -> None:
        number = len(list(self._folder.glob("started-*"))) + 1
        (self._folder / f"started-{number}").write_text(str(os.getpid()))
        wait_for(lambda: (self._folder / "go").exists(), "the file `go`")


def wait_for(condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Look until `condition` holds; the time is the limit of a test that hangs, not a measure."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.01)
