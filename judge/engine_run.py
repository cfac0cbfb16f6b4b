"""The engine part: the learner's function in the engine, compared with the reference in the same engine.

Verdicts are taken on T0, a random model from a fresh seed, so that tokens cannot be known beforehand. Text
and speed come from the bundled model, whose tokens are compared, too. Both sides run in boxes; what these
answer is compared here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from judge.engine_plan import Planned, plan, tokenizer
from judge.engine_result import (
    Malformed,
    ProgramResult,
    Told,
    difference,
    parse_result,
    parse_token,
    parse_trace,
)
from judge.exercises import Exercise
from judge.i18n import both
from judge.sandbox import ENGINE_LIMITS, Box, Pool, Stopped, make_bundle
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


def run_engine(exercise: Exercise, pool: Pool, seed: bytes, load: LoadInto, on_event: OnEvent) -> EngineRun:
    """Run every job with the reference, then with the submission that ``load`` puts into a box.

    Raises TrustedFault or Stopped (SE) when the fault is ours.
    """
    on_event(Event("engine", {"phase": "reference"}))
    planned = plan(exercise, pool, seed)
    run = EngineRun(EngineResult(Verdict.AC, model=BUNDLED))
    run.result.tokens = sum(len(tokens) for one in planned for tokens in one.expected.flat_tokens)
    try:
        with pool.box(make_bundle(exercise), ENGINE_LIMITS) as box:
            load(box)
            _run_jobs(box, planned, run, on_event)
            box.finish()
    except Stopped as stopped:
        if stopped.verdict is Verdict.SE:
            raise
        _end(run, stopped.verdict, stop_text("engine", stopped, ENGINE_LIMITS), stopped.detail.get("line"))
    except Malformed:
        _end(run, Verdict.PE, both("verdict.engine_pe"))
    return run


def _run_jobs(box: Box, planned: list[Planned], run: EngineRun, on_event: OnEvent) -> None:
    equal: list[bool] = []
    for number, one in enumerate(planned, start=1):
        on_event(Event("engine", {"phase": "run", "job": one.name, "number": number, "jobs": len(planned)}))
        stream = _Stream(one, run, on_event)
        start = box.cpu_s
        answer = parse_result(box.engine(one.job, stream.take))
        seconds = box.cpu_s - start
        if isinstance(answer, Told):
            return _end(run, Verdict.WA, both("verdict.engine_told", text=answer.text))
        _count(run.result, one, answer)
        message = difference(one.expected, answer, one.page_size)
        equal.append(one.expected.tokens == answer.tokens)
        if one.prompts:
            _show(run.result, one, answer)
            run.result.speed_ratio = round(one.seconds / seconds, 3) if seconds and one.seconds else None
        if message is not None:
            run.result.tokens_equal = all(equal)
            return _end(run, Verdict.WA, message)
    run.result.tokens_equal = run.result.schedule_equal = run.result.pages_balanced = True
    return None


def _end(run: EngineRun, verdict: Verdict, message: Text, line: int | None = None) -> None:
    run.result.verdict, run.message, run.line = verdict, message, line


def _count(result: EngineResult, one: Planned, answer: ProgramResult) -> None:
    result.pages_total = answer.pages.total
    result.pages_free, result.pages_cached = len(answer.pages.free), len(answer.pages.cached)
    result.pages_balanced = answer.balanced(one.page_size)
    result.schedule_equal = one.expected.schedule == answer.schedule
    for due, mine in zip(one.expected.flat_tokens, answer.flat_tokens, strict=False):
        result.tokens_matching += sum(a == b for a, b in zip(due, mine, strict=False))


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
