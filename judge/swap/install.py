"""``install``: engine targets are rebound by name, other functions drive the engine through an adapter."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from judge.swap.one_file import OneFileEngine
    from minisgl.llm import LLM


class Swappable(Protocol):
    """The part of an exercise that says where its function goes."""

    @property
    def slug(self) -> str: ...

    @property
    def place(self) -> str: ...

    @property
    def target(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def members(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class SwapSpec:
    """A Swappable on its own, for where there is no exercise."""

    slug: str
    place: str
    target: str
    members: tuple[str, ...] = ()

    @classmethod
    def of(cls, exercise: Mapping[str, Any]) -> SwapSpec:
        """From an exercise as a message carries it, with these four keys."""
        return cls(exercise["slug"], exercise["place"], exercise["target"], tuple(exercise["members"]))

    @property
    def name(self) -> str:
        """What the learner's file defines, the last name of the target."""
        return self.target.rpartition(":")[2].rpartition(".")[2]


class SwapError(Exception):
    """What the learner's function answered cannot be carried out by the engine.

    ``key`` names the words for it, ``values`` the numbers in them.
    """

    def __init__(self, key: str, **values: int) -> None:
        super().__init__(f"{key} {values}" if values else key)
        self.key, self.values = key, values


@contextmanager
def install(
    llm: LLM | OneFileEngine | None, exercise: Swappable, functions: Mapping[str, Any]
) -> Iterator[None]:
    """Run the engine with ``functions[exercise.name]``.

    Nothing is installed when ``functions`` lacks that name. On exit everything is as before. Functions of the
    one-file engine (see one_file.py) want that one; what is rebound by name wants none, so that it can be in
    place before an engine is made. Raises LookupError when there is no adapter for the exercise.
    """
    with ExitStack() as stack:
        if exercise.name in functions:
            stack.enter_context(_installed(llm, exercise, functions[exercise.name]))
        yield


def _installed(
    llm: LLM | OneFileEngine | None, exercise: Swappable, function: Any
) -> AbstractContextManager[None]:
    if exercise.place == "engine":
        return _rebound(exercise, function)
    if exercise.place == "adapter":
        try:
            adapter = importlib.import_module(f"judge.swap.{exercise.slug}")
        except ModuleNotFoundError as error:
            raise LookupError(f"there is no adapter judge/swap/{exercise.slug}.py") from error
        drive: AbstractContextManager[None] = adapter.drive(llm, function)
        return drive
    raise LookupError(f"{exercise.slug} has no place in the engine")


@contextmanager
def _rebound(exercise: Swappable, new: Any) -> Iterator[None]:
    """The engine's name means ``new``: on its class, or in every module that imported it."""
    module_name, _, qualname = exercise.target.partition(":")
    owner: Any = importlib.import_module(module_name)
    *path, name = qualname.split(".")
    for part in path:
        owner = getattr(owner, part)
    with ExitStack() as stack:
        if exercise.members:
            for member in exercise.members:
                attribute = inspect.getattr_static(new, member)
                stack.enter_context(replaced(getattr(owner, name), member, attribute))
        else:
            old = inspect.getattr_static(owner, name)
            stack.enter_context(replaced(owner, name, _bindable(new) if path else new))
            if not path:
                for other in _modules_with(name, old, owner):
                    stack.enter_context(replaced(other, name, new))
        yield


def _bindable(new: Any) -> Any:
    """``new`` as a class binds it; a callable that is no function, like ``functools.partial``, is wrapped."""
    if isinstance(new, FunctionType):
        return new
    return lambda *args, **kwargs: new(*args, **kwargs)


def _modules_with(name: str, value: Any, owner: Any) -> list[Any]:
    """The engine's other modules that imported the name."""
    modules = [module for key, module in sys.modules.items() if key.partition(".")[0] == "minisgl"]
    return [m for m in modules if m is not owner and m.__dict__.get(name) is value]


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Set an attribute of a class, module or object for a while; then what was there is back."""
    missing = object()
    old = owner.__dict__.get(name, missing)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if old is missing:
            delattr(owner, name)
        else:
            setattr(owner, name, old)
