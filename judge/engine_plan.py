"""The jobs of the engine part, and what each gives with the reference."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from judge.engine_result import Malformed, ProgramResult, parse_result
from judge.exercises import Exercise
from judge.harness.local import TrustedFault
from judge.i18n import LANGS
from judge.jobs import QUESTIONS, chat
from judge.sandbox import ENGINE_LIMITS, Box, Pool, Stopped, make_bundle
from judge.types import EngineJob, Verdict
from minisgl.models import resolve_model
from minisgl.models.locate import BUNDLED
from minisgl.utils.hf import Tokenizer, load_tokenizer

LEAST_MARGIN = 1e-3
"""Of the logits' standard deviation: with less between the two best tokens, rounding could decide."""

_REDRAWS = 30
_TEXT_PAGE = 4
_TEXT_PAGES = 64
_TEXT_TOKENS = 32


@dataclass(frozen=True)
class Planned:
    """A job, and what it gives with the reference in ``seconds`` of CPU; ``prompts`` where text is shown."""

    name: str
    job: dict[str, Any]
    expected: ProgramResult
    seconds: float
    prompts: tuple[str, ...] = ()

    @property
    def page_size(self) -> int:
        return int(self.job["settings"]["page_size"])


def plan(exercise: Exercise, pool: Pool, seed: bytes) -> list[Planned]:
    """Run all jobs with the reference in a box of its own; the text job comes last.

    A seed of T0 that leaves a token undecided is drawn again. Raises TrustedFault when the reference does not
    get through, Stopped (SE) when the box fails.
    """
    try:
        with pool.box(make_bundle(None), ENGINE_LIMITS) as box:
            if exercise.place == "adapter":
                box.load(
                    exercise.solution.encode(),
                    filename="reference.py",
                    target=exercise.name,
                    kind=exercise.kind,
                )
            planned = [_drawn(exercise, box, job, seed) for job in exercise.hidden.make_jobs()]
            asked = questions(exercise)
            planned.append(_run("text", _text_job(exercise, asked), box, tuple(text for _, text in asked)))
            box.finish()
            return planned
    except Stopped as stopped:
        if stopped.verdict is Verdict.SE:
            raise
        raise TrustedFault(f"{exercise.key}: the reference in the engine: {stopped}") from stopped


@lru_cache(maxsize=1)
def tokenizer() -> Tokenizer:
    """The bundled model's."""
    return load_tokenizer(resolve_model(BUNDLED))


def questions(exercise: Exercise) -> list[tuple[str, str]]:
    """Language and question, zh and en in turn: the exercise's own, or else those of all."""
    own = exercise.engine_text if any(exercise.engine_text.values()) else QUESTIONS
    turns = zip_longest(own["zh"], own["en"])
    return [(lang, asked) for turn in turns for lang, asked in zip(LANGS, turn, strict=True) if asked]


def _drawn(exercise: Exercise, box: Box, engine_job: EngineJob, seed: bytes) -> Planned:
    for attempt in range(_REDRAWS):
        label = f"{engine_job.name} {attempt}".encode()
        tiny_seed = int.from_bytes(hashlib.sha256(seed + label).digest()[:4], "big")
        planned = _run(engine_job.name, tiny_job(exercise, engine_job, tiny_seed, margins=True), box)
        if planned.expected.margin >= LEAST_MARGIN:
            return Planned(planned.name, {**planned.job, "margins": False}, planned.expected, planned.seconds)
    raise TrustedFault(f"{exercise.key}: {_REDRAWS} seeds leave a token of job {engine_job.name!r} undecided")


def _run(name: str, job: dict[str, Any], box: Box, prompts: tuple[str, ...] = ()) -> Planned:
    start = box.cpu_s
    answer = box.engine(job, lambda event: None)
    seconds = box.cpu_s - start
    try:
        result = parse_result(answer)
    except Malformed as error:
        raise TrustedFault(f"job {name!r}: the reference's answer is malformed: {error}") from error
    if not isinstance(result, ProgramResult):
        raise TrustedFault(f"job {name!r}: the reference is refused: {result.text['en']}")
    if not result.balanced(job["settings"]["page_size"]):
        raise TrustedFault(f"job {name!r}: pages do not balance with the reference: {result.integrity}")
    return Planned(name, job, result, seconds, prompts)


def tiny_job(exercise: Exercise, job: EngineJob, tiny_seed: int, *, margins: bool = False) -> dict[str, Any]:
    """The job as the engine program takes it, on the T0 of this seed."""
    settings = {
        "page_size": job.page_size,
        "num_page_override": job.slots // job.page_size,
        "max_running_req": job.max_running_req,
        "max_seq_len_override": job.max_seq_len,
        "cache_type": job.cache_type,
        "max_extend_tokens": job.max_extend_tokens,
    }
    sampling = {"temperature": 0.0, "ignore_eos": True, "max_tokens": job.max_tokens}
    return _job(exercise, {"tiny_seed": tiny_seed}, job.calls, sampling, settings, margins=margins)


def _text_job(exercise: Exercise, asked: list[tuple[str, str]]) -> dict[str, Any]:
    """Two questions a call, so that later calls find what they share with earlier ones in the cache."""
    ids = [tokenizer().encode(chat(question, lang)) for lang, question in asked]
    calls = [ids[start : start + 2] for start in range(0, len(ids), 2)]
    jobs = exercise.hidden.make_jobs()
    settings = {
        "page_size": _TEXT_PAGE,
        "num_page_override": _TEXT_PAGES,
        "max_running_req": 4,
        "max_seq_len_override": 256,
        "cache_type": jobs[0].cache_type,
    }
    sampling = {"temperature": 0.0, "max_tokens": _TEXT_TOKENS}
    return _job(exercise, {"name": BUNDLED}, calls, sampling, settings, trace=True)


def _job(
    exercise: Exercise,
    model: dict[str, Any],
    calls: list[list[list[int]]],
    sampling: dict[str, Any],
    settings: dict[str, Any],
    *,
    trace: bool = False,
    margins: bool = False,
) -> dict[str, Any]:
    where = {
        "slug": exercise.slug,
        "place": exercise.place,
        "target": exercise.target,
        "members": list(exercise.members),
    }
    return {
        "exercise": where,
        "model": model,
        "calls": calls,
        "sampling": sampling,
        "settings": settings,
        "trace": trace,
        "margins": margins,
    }
