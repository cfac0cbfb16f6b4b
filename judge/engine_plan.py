"""The jobs of the engine part, and what each gives with the reference."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from queue import SimpleQueue
from threading import Thread
from typing import Any, Self

from judge.engine_result import Malformed, ProgramResult, parse_result
from judge.engine_tier import CPU, EngineSettings, Tier
from judge.exercises import Exercise
from judge.harness.local import TrustedFault
from judge.i18n import LANGS
from judge.jobs import QUESTIONS, chat
from judge.sandbox import Box, Stopped, make_bundle
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
class Answer:
    """What a job gives with the reference, and how long it took; see Stopwatch."""

    result: ProgramResult
    seconds: float


@dataclass(frozen=True)
class Planned:
    """A job, and the reference's answer, which may still be on its way; ``prompts`` where text is shown."""

    name: str
    job: dict[str, Any]
    answer: Future[Answer]
    prompts: tuple[str, ...] = ()
    same_pages: bool = False

    @property
    def page_size(self) -> int:
        return int(self.job["settings"]["page_size"])


class Stopwatch:
    """Seconds of one job in a box: of CPU; on a GPU, where the CPU waits, from the first token to the last.

    Taken outside of the box.
    """

    def __init__(self, box: Box, on: EngineSettings) -> None:
        self._box, self._of_cpu = box, on.device == "cpu"
        self._start = box.cpu_s
        self._first = self._last = 0.0

    def see(self, event: Any) -> None:
        """One event of the program."""
        if isinstance(event, dict) and "tokens" in event:
            self._last = time.monotonic()
            self._first = self._first or self._last

    @property
    def seconds(self) -> float:
        return self._box.cpu_s - self._start if self._of_cpu else self._last - self._first


class Reference:
    """All jobs with the reference, in a box of its own; the text job comes last.

    A context manager. By default the jobs run as they are asked for. ``go_beside`` runs them in a thread, and
    ``finish`` runs all of them now and gives the box back.
    """

    def __init__(self, exercise: Exercise, tier: Tier, seed: bytes) -> None:
        """Wait for a box. Raises Stopped (SE) when the sandbox fails."""
        self.count = len(exercise.hidden.make_jobs()) + 1
        self._exercise, self._on, self._seed = exercise, tier.on, seed
        self._box = (tier.reference or tier.pool).box(make_bundle(None), tier.limits)
        self._ready: Iterable[Planned] = self._jobs()
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._thread is not None:
            self._box.kill()
            self._thread.join()
        self._box.close()

    def __iter__(self) -> Iterator[Planned]:
        """Job by job. Raises TrustedFault when the reference does not get through, Stopped (SE)."""
        return iter(self._ready)

    def finish(self) -> None:
        """Run all of them now. Raises as iterating does."""
        self._ready = list(self._jobs())

    def go_beside(self) -> None:
        """Run them in a thread, while others work."""
        queue: SimpleQueue[Planned | Exception | None] = SimpleQueue()

        def work() -> None:
            try:
                for planned in self._jobs():
                    queue.put(planned)
                queue.put(None)
            except Exception as error:  # raised where the jobs are taken
                queue.put(error)

        def take() -> Iterator[Planned]:
            while (item := queue.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item

        self._ready = take()
        self._thread = Thread(target=work, daemon=True)
        self._thread.start()

    def _jobs(self) -> Iterator[Planned]:
        exercise, box = self._exercise, self._box
        try:
            if exercise.place == "adapter":
                box.load(
                    exercise.solution.encode(),
                    filename="reference.py",
                    target=exercise.name,
                    kind=exercise.kind,
                )
            for job in exercise.hidden.make_jobs():
                yield self._drawn(job)
            asked = questions(exercise)
            text = text_job(exercise, asked, self._on)
            answer: Future[Answer] = Future()
            yield Planned("text", text, answer, tuple(text for _, text in asked))
            try:
                answer.set_result(_run("text", text, box, self._on))
                box.finish()
            except (Stopped, TrustedFault) as error:
                answer.set_exception(self._fault(error))
        except Stopped as stopped:
            raise self._fault(stopped) from stopped

    def _fault(self, error: Stopped | TrustedFault) -> Stopped | TrustedFault:
        """Ours, however it ended."""
        if isinstance(error, Stopped) and error.verdict is not Verdict.SE:
            return TrustedFault(f"{self._exercise.key}: the reference in the engine: {error}")
        return error

    def _drawn(self, engine_job: EngineJob) -> Planned:
        """The job on a T0 whose seed leaves no token undecided; else another seed is drawn."""
        for attempt in range(_REDRAWS):
            label = f"{engine_job.name} {attempt}".encode()
            tiny_seed = int.from_bytes(hashlib.sha256(self._seed + label).digest()[:4], "big")
            job = tiny_job(self._exercise, engine_job, tiny_seed, self._on)
            answer = _run(engine_job.name, {**job, "margins": self._on.exact}, self._box, self._on)
            if self._is_decided(job, answer):
                done: Future[Answer] = Future()
                done.set_result(answer)
                return Planned(engine_job.name, job, done, same_pages=engine_job.same_pages)
        problem = f"{_REDRAWS} seeds leave a token of job {engine_job.name!r} undecided"
        raise TrustedFault(f"{self._exercise.key}: {problem}")

    def _is_decided(self, job: dict[str, Any], answer: Answer) -> bool:
        if self._on.exact:
            return answer.result.margin >= LEAST_MARGIN
        return _run("again", job, self._box, self._on).result.tokens == answer.result.tokens


@lru_cache(maxsize=1)
def tokenizer() -> Tokenizer:
    """The bundled model's."""
    return load_tokenizer(resolve_model(BUNDLED))


def questions(exercise: Exercise) -> list[tuple[str, str]]:
    """Language and question, zh and en in turn: the exercise's own, or else those of all."""
    own = exercise.engine_text if any(exercise.engine_text.values()) else QUESTIONS
    turns = zip_longest(own["zh"], own["en"])
    return [(lang, asked) for turn in turns for lang, asked in zip(LANGS, turn, strict=True) if asked]


def _run(name: str, job: dict[str, Any], box: Box, on: EngineSettings) -> Answer:
    watch = Stopwatch(box, on)
    answer = box.engine(job, watch.see)
    seconds = watch.seconds
    try:
        result = parse_result(answer)
    except Malformed as error:
        raise TrustedFault(f"job {name!r}: the reference's answer is malformed: {error}") from error
    if not isinstance(result, ProgramResult):
        raise TrustedFault(f"job {name!r}: the reference is refused: {result.text['en']}")
    if not result.balanced(job["settings"]["page_size"]):
        raise TrustedFault(f"job {name!r}: pages do not balance with the reference: {result.integrity}")
    return Answer(result, seconds)


def tiny_job(exercise: Exercise, job: EngineJob, tiny_seed: int, on: EngineSettings = CPU) -> dict[str, Any]:
    """The job as the engine program takes it, on the T0 of this seed."""
    settings = {
        "page_size": job.page_size,
        "num_page_override": None if job.free_memory else job.slots // job.page_size,
        "max_running_req": job.max_running_req,
        "max_seq_len_override": job.max_seq_len,
        "cache_type": job.cache_type,
        "max_extend_tokens": job.max_extend_tokens,
        **job.scheduler,
    }
    sampling = {"temperature": 0.0, "ignore_eos": True, "max_tokens": job.max_tokens}
    sampling["repetition_penalty"] = job.repetition_penalty
    model: dict[str, Any] = {"tiny_seed": tiny_seed, "head_dim": on.head_dim}
    model |= {"rope": dict(job.rope), "shuffled": job.shuffled}
    planned = _job(exercise, model, job.calls, sampling, settings, on)
    more = {"own_sampling": _own(job), "free_memory": job.free_memory, "aborts": list(job.aborts)}
    return {**planned, **{name: value for name, value in more.items() if value}}


def _own(job: EngineJob) -> list[dict[str, Any]]:
    return [dict(own) for own in job.sampling]


def text_job(exercise: Exercise, asked: list[tuple[str, str]], on: EngineSettings = CPU) -> dict[str, Any]:
    """Two questions a call, so that later calls find what they share with earlier ones in the cache.

    Sampled as the exercise's first job is.
    """
    ids = [tokenizer().encode(chat(question, lang)) for lang, question in asked]
    calls = [ids[start : start + 2] for start in range(0, len(ids), 2)]
    jobs = exercise.hidden.make_jobs()
    settings = {
        "page_size": _TEXT_PAGE,
        "num_page_override": _TEXT_PAGES,
        "max_running_req": 4,
        "max_seq_len_override": 256,
        "cache_type": jobs[0].cache_type,
        "max_extend_tokens": jobs[0].max_extend_tokens,
        **jobs[0].scheduler,
    }
    sampling = {"temperature": 0.0, "max_tokens": _TEXT_TOKENS}
    job = _job(exercise, {"name": BUNDLED}, calls, sampling, settings, on)
    return {**job, "own_sampling": _own(jobs[0]), "trace": True}


def _job(
    exercise: Exercise,
    model: dict[str, Any],
    calls: list[list[list[int]]],
    sampling: dict[str, Any],
    settings: dict[str, Any],
    on: EngineSettings,
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
        "dtype": on.dtype,
        "settings": {**settings, "device": on.device, **on.more},
        "trace": False,
        "margins": False,
    }
