"""Judge one submission: read it, run samples, hidden cases and the engine; give one result."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from judge.engine_run import EngineRun, run_engine
from judge.engine_tier import Tier
from judge.exercises import Exercise
from judge.harness.samples import run_samples
from judge.harness.unit import Paper, UnitResult, empty_groups, run_tests, run_unit
from judge.i18n import both
from judge.sandbox import Box, Limits, Pool, Stopped, make_bundle
from judge.source import CannotJudge, parameters, read_source, signature
from judge.types import Event, GroupResult, RunResult, SampleResult, Text, Verdict, worst
from judge.verdict import accepted_text, refused_text, samples_text, stop_text, unit_text

log = logging.getLogger(__name__)

UNIT_SHARE = 0.8
"""Of the score; the rest is the engine's, where the exercise has an engine part."""

OnEvent = Callable[[Event], None]


@dataclass(frozen=True)
class _Submission:
    """What is judged, with what, and whom to tell."""

    exercise: Exercise
    source: bytes
    filename: str
    pool: Pool
    seed: bytes
    on_event: OnEvent
    tier: Tier

    @property
    def limits(self) -> Limits:
        limits = self.exercise.limits
        return Limits(cpu_s=limits.cpu_s, memory_mb=limits.memory_mb)

    def paper(self) -> Paper:
        """The hidden cases of this run."""
        return Paper(self.exercise.hidden, self.seed.hex())

    def load(self, box: Box) -> None:
        """Run the learner's module in the box. Raises Stopped."""
        box.load(
            self.source,
            filename=self.filename,
            target=self.exercise.name,
            kind=self.exercise.kind,
            parameters=parameters(self.exercise),
            members=list(self.exercise.members),
            seed=int.from_bytes(self.seed[:4], "big"),
        )

    def fresh(self) -> Box:
        """Another box with the module in it. Raises Stopped."""
        box = self.pool.box(make_bundle(self.exercise), self.limits, often=True)
        try:
            self.load(box)
        except Stopped as stopped:
            box.close()
            if stopped.verdict is Verdict.CE:  # it did load before: it is another module each time
                raise Stopped(Verdict.RE, stopped.detail, stopped.usage) from None
            raise
        return box


def judge_submission(
    exercise: Exercise,
    source: bytes,
    *,
    pool: Pool,
    engine: bool = True,
    tier: Tier | None = None,
    samples_only: bool = False,
    seed: bytes | None = None,
    on_event: OnEvent | None = None,
    filename: str | None = None,
) -> RunResult:
    """Judge ``source`` and say how it went; never raises for what the learner's code is or does.

    Args:
        engine: whether the engine part runs (after accepted unit tests, where the exercise has one).
        tier: where it runs; left out, in boxes of ``pool``.
        samples_only: run the public samples alone; the score is then the share of those that pass.
        seed: of the hidden cases and of T0; the same seed repeats the run. Drawn when left out.
        on_event: told of the progress, from this thread: running, group, engine, token, verdict.
        filename: what the learner calls the file, for traces and messages.

    Returns:
        The result. Verdict SE is our own fault; a box that the host lost is retried once before.
    """
    started = time.monotonic()
    tell = on_event or (lambda event: None)
    name = _clean_name(filename) or f"{exercise.key}.py"
    result = RunResult(exercise.id, exercise.slug, Verdict.SE, 0.0, both("verdict.se"))
    try:
        text = read_source(exercise, source)
        seed = seed or secrets.token_bytes(32)
        submission = _Submission(exercise, text.encode(), name, pool, seed, tell, tier or Tier(pool))
        result = _judge_with_retry(submission, engine=engine, samples_only=samples_only)
        result.isolation = pool.isolation
    except CannotJudge as error:
        result.verdict, result.message, result.line = Verdict.CE, error.text, error.line
    except Exception:  # whatever it is, it is ours: the learner gets a verdict, we get the trace
        log.exception("exercise %s could not be judged", exercise.key)
    result.seconds = round(time.monotonic() - started, 4)
    tell(Event("verdict", result.to_json()))
    return result


def _clean_name(filename: str | None) -> str:
    """The last part of a file's name as it can travel: what is no valid text in it becomes "?"."""
    return PurePath(filename or "").name.encode("utf-8", "replace").decode().replace("\0", "?")


def _judge_with_retry(submission: _Submission, *, engine: bool, samples_only: bool) -> RunResult:
    try:
        return _judge(submission, engine=engine, samples_only=samples_only)
    except Stopped as stopped:
        log.warning("the sandbox failed, so once more: %s", stopped)
        return _judge(submission, engine=engine, samples_only=samples_only)


def _judge(submission: _Submission, *, engine: bool, samples_only: bool) -> RunResult:
    exercise = submission.exercise

    def tell(number: int, row: GroupResult) -> None:
        _tell_group(submission, number, row)

    submission.on_event(Event("running", {"groups": [] if samples_only else _titles(exercise)}))
    paper = submission.paper()
    with submission.pool.box(make_bundle(exercise), submission.limits, often=True) as box:
        try:
            submission.load(box)
        except Stopped as stopped:
            return _not_loaded(submission, stopped)
        try:
            # what is due is computed beside the samples: nothing of it is asked of the box before
            samples = run_samples(exercise, box, None if samples_only else paper.write)
            if samples_only:
                usage = box.finish()
                return _samples_result(exercise, samples, usage.memory_mb)
        except Stopped as stopped:
            return _stopped(submission, "sample", stopped)
        unit = run_unit(paper, box, tell) if exercise.form != "write_the_tests" else None
    if unit is None:  # tests are run in a box of their own for each implementation, this one closed
        unit = run_tests(paper, submission.fresh, tell)
    has_engine = exercise.place != "none"
    run = None
    if engine and has_engine and unit.verdict is Verdict.AC:
        run = run_engine(exercise, submission.tier, submission.seed, submission.load, submission.on_event)
    return _composed(submission, samples, unit, run, has_engine)


def _composed(
    submission: _Submission,
    samples: list[SampleResult],
    unit: UnitResult,
    run: EngineRun | None,
    has_engine: bool,
) -> RunResult:
    exercise = submission.exercise
    rule, line = None, None
    if unit.verdict is not Verdict.AC:
        message, rule, line = unit_text(unit, submission.limits)
    elif run is not None and run.message is not None:
        message, line = run.message, run.line
    else:
        message = accepted_text(unit, run.result.tokens if run else None, has_engine=has_engine)
    share = UNIT_SHARE if has_engine else 1.0
    score = share * unit.score
    if run is not None and run.result.verdict is Verdict.AC:
        score += 1.0 - UNIT_SHARE
    return RunResult(
        exercise=exercise.id,
        slug=exercise.slug,
        verdict=worst(unit.verdict, run.result.verdict if run else Verdict.AC),
        score=round(score, 4),
        message=message,
        groups=unit.groups,
        rule=rule,
        diagnosis=unit.diagnosis,
        engine=run.result if run else None,
        samples=samples,
        times=unit.times,
        memory_mb=unit.usage.memory_mb,
        line=line,
        trace=run.trace if run else [],
    )


def _not_loaded(submission: _Submission, stopped: Stopped) -> RunResult:
    if stopped.verdict is not Verdict.CE:
        return _stopped(submission, "load", stopped)
    exercise = submission.exercise
    text = refused_text(exercise, stopped.detail, signature(exercise))
    raise CannotJudge(text, stopped.detail.get("line"))


def _stopped(submission: _Submission, where: Any, stopped: Stopped) -> RunResult:
    """The box ended before the hidden cases began."""
    if stopped.verdict is Verdict.SE:
        raise stopped
    exercise = submission.exercise
    message = stop_text(where, stopped, submission.limits)
    return RunResult(
        exercise=exercise.id,
        slug=exercise.slug,
        verdict=stopped.verdict,
        score=0.0,
        message=message,
        groups=empty_groups(exercise.hidden, submission.paper().cases),
        memory_mb=stopped.usage.memory_mb,
        line=stopped.detail.get("line"),
    )


def _samples_result(exercise: Exercise, samples: list[SampleResult], memory_mb: float | None) -> RunResult:
    passed = sum(sample.ok for sample in samples)
    return RunResult(
        exercise=exercise.id,
        slug=exercise.slug,
        verdict=Verdict.AC if passed == len(samples) else Verdict.WA,
        score=round(passed / len(samples), 4) if samples else 0.0,
        message=samples_text(samples),
        samples=samples,
        memory_mb=memory_mb,
    )


def _tell_group(submission: _Submission, number: int, row: GroupResult) -> None:
    total = len(submission.exercise.hidden.groups)
    data = {"number": number + 1, "groups": total, "name": row.name, "title": row.title}
    data |= {"verdict": row.verdict, "score": row.score, "seconds": row.seconds}
    submission.on_event(Event("group", {**data, "passed": row.passed, "total": row.total}))


def _titles(exercise: Exercise) -> list[Text]:
    return [{"zh": group.zh, "en": group.en} for group in exercise.hidden.groups]
