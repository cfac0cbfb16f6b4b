"""All of a learner's functions in the engine at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from judge.swap.install import Swappable, install, replaced
from judge.swap.one_file import SLUGS
from minisgl.llm import LLM

_Exercise = TypeVar("_Exercise", bound=Swappable)

ALONE = (*SLUGS, "continuous_step")
"""What runs in no company: the one-file engine's, and a plan that takes the place of the whole scheduler."""


def has_place(exercise: Swappable) -> bool:
    """Whether the exercise's function can be in the engine together with those of others."""
    return exercise.place != "none" and exercise.slug not in ALONE


def together(exercises: Iterable[_Exercise]) -> list[_Exercise]:
    """Those that have a place in company; of two about the same function the later one."""
    return list({exercise.target: exercise for exercise in exercises if has_place(exercise)}.values())


@contextmanager
def install_all(functions: Sequence[tuple[Swappable, Any]]) -> Iterator[None]:
    """Run the engine with each exercise's function. An adapter drives every LLM that is made meanwhile.

    Raises LookupError when an exercise has no place in the engine.
    """
    adapters = [(exercise, function) for exercise, function in functions if exercise.place == "adapter"]
    make = LLM.__init__
    with ExitStack() as stack:

        def init(llm: LLM, *args: Any, **kwargs: Any) -> None:
            make(llm, *args, **kwargs)
            for exercise, function in adapters:
                stack.enter_context(install(llm, exercise, {exercise.name: function}))

        for exercise, function in functions:
            if exercise.place != "adapter":
                stack.enter_context(install(None, exercise, {exercise.name: function}))
        stack.enter_context(replaced(LLM, "__init__", init))
        yield
