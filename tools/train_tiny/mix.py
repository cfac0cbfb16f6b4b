"""The training mixture: which source makes which share of the tokens, and the documents of each source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from . import corpora
from .synth_chat import chat, plain_qa
from .synth_code import code
from .synth_facts import capitals
from .synth_story import life, story
from .synth_sums import sums
from .synth_terms import glossary

Writer = Callable[[Random], str]


@dataclass(frozen=True)
class Source:
    """A source, its share of the tokens, and its writer (None: a fetched text, read from the cache folder)."""

    name: str
    share: float
    write: Writer | None = None


def _both(name: str, make: Callable[[Random, str], str], english: float, chinese: float) -> list[Source]:
    return [
        Source(f"{name}-en", english, partial(make, lang="en")),
        Source(f"{name}-zh", chinese, partial(make, lang="zh")),
    ]


SOURCES: list[Source] = [
    *_both("story", story, 0.15, 0.17),
    *_both("life", life, 0.04, 0.045),
    *_both("chat", chat, 0.14, 0.15),
    *_both("question", plain_qa, 0.025, 0.025),
    *_both("glossary", glossary, 0.02, 0.02),
    *_both("capitals", capitals, 0.015, 0.015),
    *_both("sums", sums, 0.025, 0.02),
    *_both("code", code, 0.03, 0.015),
    Source("wordnet", 0.06),
    Source("pydocs", 0.015),
    Source("poetry", 0.02),
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
