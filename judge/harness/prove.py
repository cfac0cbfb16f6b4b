"""Prove that an exercise cannot turn green by mistake, nor red for somebody who is right.

The reference is accepted, the starter is not and fails every group, each mutant fails with its own diagnosis,
and nothing is skipped: all through the same boxes, cases and words as a submission. Of an exercise that asks
for tests, each planted implementation is found by a test of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from judge.exercises import Exercise
from judge.harness.diagnosis import mutant_source
from judge.i18n import LANGS
from judge.run import judge_submission
from judge.sandbox import Pool
from judge.solution import solution_text
from judge.starter import starter
from judge.types import Mutant, RunResult, Verdict

LEAST_MUTANTS = 3


def prove(exercise: Exercise, pool: Pool, *, engine: bool = True, seed: bytes | None = None) -> list[str]:
    """What is wrong with the exercise, a line for each finding; empty when it is proved."""
    return [f"{exercise.key}: {finding}" for finding in _findings(exercise, pool, engine, seed)]


def _findings(exercise: Exercise, pool: Pool, engine: bool, seed: bytes | None) -> Iterator[str]:
    source = solution_text(exercise).encode()
    reference = judge_submission(exercise, source, pool=pool, engine=engine, seed=seed)
    yield from _accepted(exercise, reference, engine)
    for lang in LANGS:
        yield from _starter_fails(exercise, pool, lang, seed)
    if len(exercise.hidden.mutants) < LEAST_MUTANTS:
        yield f"has {len(exercise.hidden.mutants)} mutants, fewer than {LEAST_MUTANTS}"
    for one in exercise.hidden.planted:
        if one.letter not in {mutant.letter for mutant in exercise.hidden.mutants}:
            yield f"no mutant {one.letter}: the reference without what finds that wrong implementation"
    for mutant in exercise.hidden.mutants:
        yield from _mutant_fails(exercise, pool, mutant, seed)


def _accepted(exercise: Exercise, result: RunResult, engine: bool) -> Iterator[str]:
    if result.verdict is not Verdict.AC:
        yield f"the reference is not accepted: {_said(result)}"
        return
    for sample in result.samples:
        if not sample.ok:
            yield f"the reference fails sample {sample.name}"
    if not result.samples:
        yield "no sample runs"
    for group in result.groups:
        if not group.total or group.passed != group.total:
            yield f"group {group.name}: the reference passes {group.passed} of {group.total} cases"
    if engine and exercise.place != "none" and result.engine is None:
        yield "the engine part does not run on the reference"
    if engine and result.score != 1.0:
        yield f"the reference scores {result.score}"


def _starter_fails(exercise: Exercise, pool: Pool, lang: str, seed: bytes | None) -> Iterator[str]:
    source = starter(exercise, lang).encode()
    result = judge_submission(exercise, source, pool=pool, engine=False, seed=seed)
    if result.verdict not in (Verdict.WA, Verdict.RE):
        yield f"the starter ({lang}) gets {result.verdict}: {_said(result)}"
        return
    for group in result.groups:
        if group.verdict in (None, Verdict.AC):
            yield f"group {group.name} does not fail on the starter ({lang})"
    if all(sample.ok for sample in result.samples) and exercise.form != "find_the_bug":
        yield f"all samples pass on the starter ({lang})"


def _mutant_fails(exercise: Exercise, pool: Pool, mutant: Mutant, seed: bytes | None) -> Iterator[str]:
    source = mutant_source(exercise.hidden, mutant).encode()
    result = judge_submission(exercise, source, pool=pool, engine=False, seed=seed)
    if result.verdict is not Verdict.WA:
        yield f"mutant {mutant.letter} gets {result.verdict}: {_said(result)}"
    elif result.diagnosis is None or result.diagnosis.letter != mutant.letter:
        found = result.diagnosis.letter if result.diagnosis else "none"
        yield f"mutant {mutant.letter} gets the diagnosis of another one: {found}"
    if mutant.letter in {one.letter for one in exercise.hidden.planted}:
        alive = [group.name for group in result.groups if group.verdict is not Verdict.AC]
        if alive != [mutant.letter]:
            yield f"mutant {mutant.letter} lets {alive} live, not just the wrong one that it is named after"


def _said(result: RunResult) -> str:
    said = f"{result.verdict}, {result.message['en']}"
    return f"{said} ({result.engine.verdict} in the engine)" if result.engine else said
