"""The engine runs that every swapped function goes through, and the prompts they are made of."""

from __future__ import annotations

from typing import Any

from judge.chat import chat
from judge.types import EngineJob

__all__ = ["QUESTIONS", "VOCAB", "P", "chat", "default_jobs"]

VOCAB = 512

QUESTIONS = {
    "zh": ("什么是页？", "什么是前缀缓存？"),
    "en": ("What is a page?", "What is the capital of Japan?"),
}
"""What the bundled model is asked unless an exercise brings its own questions."""


def P(i: int, n: int) -> list[int]:
    """Prompt ``i`` of ``n`` tokens: ``(37 * i + 11 * j + 3) % 512`` for j in 0..n-1."""
    return [(37 * i + 11 * j + 3) % VOCAB for j in range(n)]


def default_jobs(**scheduler: Any) -> list[EngineJob]:
    """Page sizes 1 and 4, radix cache: four prompts in one batch, then one prompt twice, so that it hits.

    ``scheduler``: settings of the scheduler by name, as EngineJob has them.
    """
    long = P(0, 24) + P(4, 3)
    calls = [[P(0, 5), P(1, 5), P(2, 4), P(3, 15)], [long], [long]]
    settings: dict[str, Any] = {"calls": calls, "scheduler": scheduler}
    return [EngineJob(name=f"page size {size}", page_size=size, **settings) for size in (1, 4)]
