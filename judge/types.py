"""The plain data that parts of the judge hand to each other, and that hidden modules are written with."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import msgspec

Text = dict[str, str]
"""One message in both languages: ``{"zh": ..., "en": ...}``."""


class Verdict(StrEnum):
    """What a run ended with; also the verdict of one group of cases or of the engine part."""

    AC = "AC"
    WA = "WA"
    RE = "RE"
    TLE = "TLE"
    MLE = "MLE"
    OLE = "OLE"
    CE = "CE"
    PE = "PE"
    SE = "SE"


_SEVERITY = ("AC", "WA", "PE", "RE", "OLE", "MLE", "TLE", "CE", "SE")


def worst(*verdicts: Verdict) -> Verdict:
    """The worst of ``verdicts`` (AC when there is none); SE, our own fault, outranks everything."""
    return max(verdicts, key=lambda verdict: _SEVERITY.index(verdict.value), default=Verdict.AC)


# --- What a hidden module is written with -----------------------------------------------------


class Case(msgspec.Struct, frozen=True):
    """A hidden case; ``data`` enters the box: None, bool, int, float, str, list, dict (str keys), tensors.

    ``size`` is given where the exercise measures time by size; it is what the table's first column shows.
    ``outside`` is for the trusted object and the checker alone.
    """

    group: str
    data: dict[str, Any]
    size: int | None = None
    outside: Any = None


class Group(msgspec.Struct, frozen=True):
    """A group of cases, in the order of ``GROUPS``: the unit of partial credit, named in both languages."""

    name: str
    zh: str
    en: str
    weight: float = 1.0


class Broken(msgspec.Struct, frozen=True):
    """What a checker says about a wrong answer: the rule that broke, and how. Never names a hidden input."""

    rule: int
    text: Text


class Refused(Exception):
    """Raised by a trusted object when a call's arguments break a rule: the case ends there, as wrong."""

    def __init__(self, broken: Broken) -> None:
        super().__init__(broken.text["en"])
        self.broken = broken


class Mutant(msgspec.Struct, frozen=True):
    """A wrong submission that people really make: a whole module, and what to tell whoever makes it.

    ``code = "starter"`` stands for the starter of a find-the-bug exercise.
    """

    letter: str
    code: str
    zh: str
    en: str


class Planted(msgspec.Struct, frozen=True):
    """A wrong implementation that the tests of a learner meet, and what to tell those who let it live.

    The trusted object serves it to the cases whose ``outside`` is its letter.
    """

    letter: str
    zh: str
    en: str


class EngineJob(msgspec.Struct, frozen=True):
    """One run of the engine on T0, the random tiny model: an LLM and its ``generate`` calls, one by one.

    ``calls[k]`` is a list of prompts, lists of token ids below 512. ``slots``: the pool's size in tokens.
    ``free_memory``: instead, the engine plans its pool itself, and finds these bytes free, rank by rank:
    before its weights are loaded, and after. EOS is ignored. Sampling is greedy, or ``sampling`` has fields
    of SamplingParams, which the prompts of a call take in turn. With a ``repetition_penalty`` the tokens of
    the prompt count, too. ``same_pages``: free and cached pages have to be those of the reference, in its
    order. ``rope``: T0's positions are scaled, with kind and fields of a RotaryConfig. ``shuffled``: T0's
    tensors are loaded in random order. ``scheduler``: more settings of the scheduler by name, for example
    ``{"mixed": True}``.
    ``aborts``: in call k the client of the first prompt goes away before step ``aborts[k]``, counted from 0.
    """

    name: str
    calls: list[list[list[int]]]
    page_size: int = 1
    slots: int = 128
    cache_type: Literal["radix", "naive"] = "radix"
    max_running_req: int = 8
    max_seq_len: int = 128
    max_tokens: int = 8
    max_extend_tokens: int = 8192
    repetition_penalty: float = 1.0
    same_pages: bool = False
    rope: dict[str, Any] = {}
    shuffled: bool = False
    scheduler: dict[str, Any] = {}
    aborts: list[int] = []
    sampling: list[dict[str, Any]] = []
    free_memory: tuple[list[int], list[int]] | None = None


# --- What a run ends in -----------------------------------------------------------------------


class Diagnosis(msgspec.Struct, frozen=True):
    """A known mistake that the failures of a submission match."""

    letter: str
    zh: str
    en: str


class GroupResult(msgspec.Struct):
    """How one group went. ``verdict`` None: the run was stopped before it. ``seconds`` is CPU time."""

    name: str
    title: Text
    verdict: Verdict | None
    score: float
    seconds: float
    passed: int
    total: int
    weight: float = 1.0


class SampleResult(msgspec.Struct):
    """One public sample: shown in full, with the learner's own output."""

    name: str
    ok: bool
    title: Text = {}
    line: int | None = None
    assertion: str = ""
    expected: str = ""
    got: str = ""
    message: Text = {}
    stdout: str = ""


class TimeRow(msgspec.Struct):
    """A row of the table of time by size; seconds of CPU time."""

    size: int
    seconds: float
    reference: float


class Generated(msgspec.Struct):
    """One prompt and what the engine wrote with the learner's function in it."""

    prompt: str
    text: str
    tokens: int
    cached: int = 0


class EngineSetup(msgspec.Struct, forbid_unknown_fields=True):
    """How the engine ran: the device by name, attention of prompts and of decodes, sizes with a graph."""

    device: str
    dtype: str
    prefill: str
    decode: str
    graphs: list[int]
    overlap: bool


class EngineResult(msgspec.Struct):
    """The engine part. ``speed_ratio``: the reference's time over the submission's, in the same run."""

    verdict: Verdict
    text: str = ""
    texts: list[Generated] = []
    tokens_equal: bool = False
    tokens: int = 0
    tokens_matching: int = 0
    schedule_equal: bool = False
    pages_balanced: bool = False
    pages_total: int = 0
    pages_free: int = 0
    pages_cached: int = 0
    speed_ratio: float | None = None
    model: str = ""
    device: str = "cpu"
    setup: EngineSetup | None = None


class RunResult(msgspec.Struct):
    """The one answer to a submission. ``to_json`` gives the object that CLI and service print."""

    exercise: int
    slug: str
    verdict: Verdict
    score: float
    message: Text
    groups: list[GroupResult] = []
    rule: int | None = None
    diagnosis: Diagnosis | None = None
    engine: EngineResult | None = None
    samples: list[SampleResult] = []
    times: list[TimeRow] = []
    isolation: str = ""
    seconds: float = 0.0
    memory_mb: float | None = None
    line: int | None = None
    trace: list[dict[str, Any]] = []

    def to_json(self, *, trace: bool = False) -> dict[str, Any]:
        """Plain data for ``json.dumps``; the trace of the learner's engine run only when asked for."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        if not trace:
            del plain["trace"]
        return plain


class Event(msgspec.Struct, frozen=True):
    """Progress, in this order: queued, running, group..., engine, token..., verdict."""

    type: Literal["queued", "running", "group", "engine", "token", "verdict"]
    data: dict[str, Any] = {}
