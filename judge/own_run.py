"""A learner's own run where the engine does not call the function: ``own_run.py`` beside ``samples.py``.

It defines ``own_run(target)``, or ``own_run(target, trace)`` with the events of a run of the engine, and
yields events of ``trace.schema.json``: a type and its fields. ``events`` numbers them and makes them plain,
since they hold what learner code returns. Standard library only: the browser runs this file, too.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from typing import Any

Event = dict[str, Any]

FILE = "own_run.py"
VERSION = 1  # of the trace's format
MOST_EVENTS = 5000
MOST_ITEMS = 1000
MOST_TEXT = 40
_MOST_WHOLE = 2**53  # beyond it JavaScript counts no more


def takes_trace(source: str) -> bool:
    """Whether ``own_run`` asks for a run of the engine.

    Raises:
        SyntaxError: the source does not parse.
        ValueError: it does not define ``own_run`` with one or two arguments; says so.
    """
    for node in ast.parse(source, FILE).body:
        if isinstance(node, ast.FunctionDef) and node.name == "own_run":
            names = [argument.arg for argument in node.args.args]
            if names in (["target"], ["target", "trace"]):
                return len(names) == 2
    raise ValueError("does not define own_run(target) or own_run(target, trace)")


def events(source: str, target: Any, trace: list[Event]) -> Iterator[Event]:
    """What ``own_run`` yields, each as soon as it is there. What learner code raises comes through.

    Args:
        source: text of ``own_run.py``.
        target: what the learner's file defines.
        trace: events of a run of the engine; left out where ``own_run`` does not ask for them.
    """
    namespace: dict[str, Any] = {"__name__": "own_run"}
    exec(compile(source, FILE, "exec", dont_inherit=True), namespace)
    own_run: Callable[..., Iterator[Event]] = namespace["own_run"]
    made = own_run(target, trace) if takes_trace(source) else own_run(target)
    for seq, event in zip(range(MOST_EVENTS), made, strict=False):
        fields = {name: plain(value) for name, value in event.items()}
        yield {"v": VERSION, "t": 0.0, **fields, "seq": seq}


def plain(value: Any) -> Any:
    """A copy of numbers, short texts, lists and dicts of these; for all else ``{"other": class}``.

    Asks nothing of the value itself: ``__repr__``, ``__iter__`` and ``__class__`` may be anything.
    """
    kind = type(value)
    if kind is list and len(value) <= MOST_ITEMS:
        return [_single(item) for item in value]
    if kind is dict and len(value) <= MOST_ITEMS and all(type(key) is str for key in value):
        return {_text(key): _single(item) for key, item in value.items()}
    return _single(value)


def _single(value: Any) -> Any:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int and abs(value) <= _MOST_WHOLE:
        return value
    if kind is float and math.isfinite(value):
        return value
    if kind is str:
        return _text(value)
    return {"other": class_name(value)}


def class_name(value: object) -> str:
    """The name of the value's class, whatever its metaclass says."""
    return _text(type.__dict__["__name__"].__get__(type(value)))


def _text(text: str) -> str:
    cut = text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + "..."
    return cut.encode("utf-8", "replace").decode()


def line_of(function: object) -> dict[str, int]:
    """An event's ``line``: where the learner's file defines the function; nothing where nobody knows."""
    code = getattr(function, "__code__", None)
    line = getattr(code, "co_firstlineno", None)
    return {"line": line} if type(line) is int and line > 0 else {}
