"""The engine part: the learner's function in the engine, compared with the reference in the same engine.

Verdicts are taken on T0, a random model from a fresh seed, so that tokens cannot be known beforehand. Text
and speed come from the bundled model, whose tokens are compared, too. Both sides run in boxes; what these
answer is compared here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from judge.engine_plan import Planned, Reference, Stopwatch, tokenizer
from judge.engine_result import (
    Malformed,
    ProgramResult,
    Told,
    difference,
    parse_result,
    parse_token,
    parse_trace,
)
from judge.engine_tier import EngineSettings, Tier
from judge.exercises import Exercise
from judge.i18n import both
from judge.sandbox import Box, Stopped, make_bundle
from judge.types import EngineResult, Event, Generated, Text, Verdict
from judge.verdict import stop_text
from minisgl.models.locate import BUNDLED

OnEvent = Callable[[Event], None]
LoadInto = Callable[[Box], None]


@dataclass
class EngineRun:
    """The engine part's result; ``message`` is None when it is accepted."""

    result: EngineResult
    message: Text | None = None
    line: int | None = None
    trace: list[dict[str, Any]] = field(default_factory=list)


def run_engine(exercise: Exercise, tier: Tier, seed: bytes, load: LoadInto, on_event: OnEvent) -> EngineRun:
    """Run every job with the reference, and with the submission that ``load`` puts into a box.

    The two run side by side where they may and two boxes are free; whoever holds one waits for no second.
    Raises TrustedFault or Stopped (SE) when the fault is ours.
    """
    on_event(Event("engine", {"phase": "reference"}))
    run = EngineRun(EngineResult(Verdict.AC, model=BUNDLED, device=tier.on.device))
    bundle = make_bundle(exercise)
    try:
        with Reference(exercise, tier, seed) as reference:
            box = tier.pool.box_if_free(bundle, tier.limits) if tier.beside else None
            if box is None:
                reference.finish()
                box = tier.pool.box(bundle, tier.limits)
            else:
                reference.go_beside()
            with box:
                load(box)
                _run_jobs(box, reference, tier.on, run, on_event)
                box.finish()
    except Stopped as stopped:
        if stopped.verdict is Verdict.SE:
            raise
        _end(run, stopped.verdict, stop_text("engine", stopped, tier.limits), stopped.detail.get("line"))
    except Malformed:
        _end(run, Verdict.PE, both("verdict.engine_pe"))
    return run


def _run_jobs(box: Box, reference: Reference, on: EngineSettings, run: EngineRun, on_event: OnEvent) -> None:
    equal: list[bool] = []
    for number, one in enumerate(reference, start=1):
        where = {"job": one.name, "number": number, "jobs": reference.count}
        on_event(Event("engine", {"phase": "run", **where}))
        stream = _Stream(one, run, on_event)
        watch = Stopwatch(box, on)

        def see(event: Any, stream: _Stream = stream, watch: Stopwatch = watch) -> None:
            watch.see(event)
            stream.take(event)

        answer = parse_result(box.engine(one.job, see))
        seconds = watch.seconds
        if isinstance(answer, Told):
            return _end(run, Verdict.WA, both("verdict.engine_told", text=answer.text))
        due = one.answer.result()
        _count(run.result, due.result, answer, one.page_size)
        message = difference(due.result, answer, one.page_size, same_pages=one.same_pages)
        equal.append(due.result.tokens == answer.tokens)
        if one.prompts:
            _show(run.result, one, answer)
            run.result.setup = due.result.setup
            run.result.speed_ratio = round(due.seconds / seconds, 3) if seconds and due.seconds else None
        if message is not None:
            run.result.tokens_equal = all(equal)
            return _end(run, Verdict.WA, message)
    run.result.tokens_equal = run.result.schedule_equal = run.result.pages_balanced = True
    return None


def _end(run: EngineRun, verdict: Verdict, message: Text, line: int | None = None) -> None:
    run.result.verdict, run.message, run.line = verdict, message, line


def _count(result: EngineResult, due: ProgramResult, answer: ProgramResult, page_size: int) -> None:
    result.pages_total = answer.pages.total
    result.pages_free, result.pages_cached = len(answer.pages.free), len(answer.pages.cached)
    result.pages_balanced = answer.balanced(page_size)
    result.schedule_equal = due.schedule == answer.schedule
    for right, mine in zip(due.flat_tokens, answer.flat_tokens, strict=False):
        result.tokens += len(right)
        result.tokens_matching += sum(a == b for a, b in zip(right, mine, strict=False))


def _show(result: EngineResult, one: Planned, answer: ProgramResult) -> None:
    """What the bundled model wrote, prompt by prompt."""
    cached = dict(answer.admitted)
    for uid, (prompt, tokens) in enumerate(zip(one.prompts, answer.flat_tokens, strict=False)):
        text = _decode(tokens)
        result.texts.append(Generated(prompt, text, len(tokens), cached.get(uid, 0)))
    result.text = "\n\n".join(f"{shown.prompt}\n{shown.text}" for shown in result.texts)


def _decode(tokens: list[int]) -> str:
    return tokenizer().decode([token for token in tokens if 0 <= token < 1 << 31])


class _Stream:
    """Passes on the tokens of the text job as text, as they come, and keeps its trace."""

    def __init__(self, one: Planned, run: EngineRun, on_event: OnEvent) -> None:
        self._one, self._run, self._on_event = one, run, on_event
        self._ids: dict[tuple[int, int], list[int]] = {}
        self._sent: dict[tuple[int, int], str] = {}
        self._first = [0]
        for call in one.job["calls"]:
            self._first.append(self._first[-1] + len(call))

    def take(self, event: Any) -> None:
        """One event of the program. Raises Malformed."""
        self._run.trace += parse_trace(event)
        token = parse_token(event)
        if token is None or not self._one.prompts:
            return
        call, index, token_id = token
        if not (0 <= call < len(self._first) - 1 and 0 <= index < self._first[call + 1] - self._first[call]):
            raise Malformed("a token of no prompt")
        ids = self._ids.setdefault((call, index), [])
        if len(ids) >= self._one.job["sampling"]["max_tokens"]:
            raise Malformed("more tokens than asked for")
        ids.append(token_id)
        # a character may be split over tokens: its beginning waits for the rest
        text = _decode(ids).rstrip("\ufffd")
        sent = self._sent.get((call, index), "")
        if len(text) > len(sent):
            self._sent[call, index] = text
            data = {"request": self._first[call] + index, "text": text[len(sent) :]}
            if not sent:
                data["prompt"] = self._one.prompts[self._first[call] + index]
            self._on_event(Event("token", data))
