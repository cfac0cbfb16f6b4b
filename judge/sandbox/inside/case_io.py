"""What a drive gets as ``io``: record a value, ask the trusted object outside, try a call, make an object."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from judge.sandbox import protocol
from judge.sandbox.inside.channel import Channel, Closed
from judge.sandbox.inside.submission import describe

_NOTES = 8


class CaseOver(BaseException):
    """The trusted object has seen enough. Not an Exception, so that attempts let it pass."""


class CaseIO:
    """The ``io`` of one case."""

    def __init__(self, channel: Channel, filename: str) -> None:
        self._channel = channel
        self._filename = filename
        self.notes: list[protocol.Raised] = []

    def emit(self, value: Any) -> None:
        """Record one value: None, bool, int, float, str, list, dict with str keys, or tensor."""
        self._channel.send_value(protocol.Emit, value)

    def call(self, name: str, *args: Any) -> Any:
        """Ask the trusted object outside; raises what it raises."""
        try:
            packed = protocol.pack(list(args))
        except protocol.TooLarge:
            self._channel.send(protocol.Overflow)
            packed = []
        self._channel.send(protocol.Call, str(name), packed)
        reply = self._channel.receive()
        if not isinstance(reply, protocol.Reply):
            raise Closed
        if reply.over:
            raise CaseOver
        if reply.raised is not None:
            raise _exception(reply.raised)
        return reply.value

    def attempt(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
        """``{"value": result}``, or ``{"error": class name}`` when the call raises an Exception.

        A class of the learner's own counts as the built-in one that it derives from.
        """
        try:
            return {"value": function(*args, **kwargs)}
        except Exception as error:
            raised = describe(error, self._filename)
            if protocol.out_of_memory(raised):
                raise
            self.notes = [*self.notes[1 - _NOTES :], raised]
            return {"error": _built_in(error)}

    def obj(self, **attributes: Any) -> SimpleNamespace:
        """A plain object with these attributes."""
        return SimpleNamespace(**attributes)


def _built_in(error: Exception) -> str:
    kinds = (kind for kind in type(error).__mro__ if vars(builtins).get(kind.__name__) is kind)
    return next(kinds, Exception).__name__


def _exception(raised: protocol.Raised) -> Exception:
    kind = getattr(builtins, raised.name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(raised.message)
        except TypeError:  # such as UnicodeDecodeError, which wants five arguments
            return RuntimeError(f"{raised.name}: {raised.message}")
    return RuntimeError(f"{raised.name}: {raised.message}")
