"""The training mixture: which source makes which share of the tokens, and the documents of each source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from . import corpora
from .synth_chat import chat, plain_qa
from .synth_code import code
from .synth_facts import capitals
from .synth_story import life, scene, story, tale
from .synth_sums import sums
from .synth_terms import glossary

Writer = Callable[[Random], str]


@dataclass(frozen=True)
class Source:
    """A source, its part of the tokens, and its writer (None: a fetched text, read from the cache folder)."""

    name: str
    share: float
    write: Writer | None = None


def _both(name: str, make: Callable[[Random, str], str], english: float, chinese: float) -> list[Source]:
    return [
        Source(f"{name}-en", english, lambda rng: make(rng, "en")),
        Source(f"{name}-zh", chinese, lambda rng: make(rng, "zh")),
    ]


SOURCES: list[Source] = [
    *_both("story", story, 0.1, 0.11),
    *_both("tale", tale, 0.06, 0.07),
    *_both("scene", scene, 0.025, 0.03),
    *_both("life", life, 0.04, 0.05),
    *_both("chat", chat, 0.155, 0.165),
    *_both("question", plain_qa, 0.02, 0.02),
    *_both("glossary", glossary, 0.02, 0.02),
    *_both("capitals", capitals, 0.013, 0.013),
    *_both("sums", sums, 0.018, 0.015),
    *_both("code", code, 0.03, 0.015),
    Source("wordnet", 0.047),
    Source("pydocs", 0.01),
    Source("poetry", 0.015),
]


def source(name: str) -> Source:
    """The source of that name. Raises KeyError if there is none."""
    return next((s for s in SOURCES if s.name == name), None) or _unknown(name)


def _unknown(name: str) -> Source:
    raise KeyError(f"no source named {name!r}")


def written(name: str, seed: str, count: int) -> list[str]:
    """``count`` documents of a source that writes its own; the same seed gives the same documents."""
    write = source(name).write
    if write is None:
        raise ValueError(f"{name} is a fetched text")
    rng = Random(f"{name} {seed}")
    return [write(rng) for _ in range(count)]


def fetched(name: str, folder: Path) -> list[str]:
    """All documents of a fetched source; empty when it was not fetched."""
    return corpora.read(folder, name)
