"""One box from the outside: give orders, take answers.

The order of frames is a state machine: whatever is not the answer to the last order ends the box.
"""

from __future__ import annotations

import marshal
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NoReturn

import msgspec

from judge.sandbox import protocol
from judge.sandbox.exchange import Exchange
from judge.sandbox.inside import samples
from judge.sandbox.limits import Usage
from judge.types import Refused, Verdict


class CaseAnswer(msgspec.Struct):
    """What a case emitted, how it ended, and its CPU seconds. ``notes``: what ``io.attempt`` caught."""

    emitted: list[Any]
    raised: protocol.Raised | None
    notes: list[protocol.Raised]
    seconds: float


class SampleAnswer(msgspec.Struct):
    """How one sample test went. ``line``: of the sample file; ``raised_line``: of the learner's file."""

    name: str
    ok: bool
    line: int | None
    assertion: str
    expected: str
    got: str
    message: str
    stdout: str
    raised_line: int | None


@lru_cache(maxsize=64)
def _samples_order(source: str, filename: str) -> protocol.RunSamples:
    prepared = samples.prepare(source, filename)
    return protocol.RunSamples(marshal.dumps(prepared.code), prepared.asserts, filename)


class Box(Exchange):
    """A context manager; leaving it ends the process, however far the work got. Not thread-safe."""

    _case_cpu_s = 0.0

    def load(
        self,
        source: bytes,
        *,
        filename: str,
        target: str,
        kind: Literal["function", "class"] = "function",
        parameters: list[protocol.Parameter] | None = None,
        members: list[str] | None = None,
        seed: int = 0,
    ) -> None:
        """Run the learner's module, which defines ``target``.

        Raises Stopped: CE or RE with ``reason``, or a limit.
        """
        self._send(protocol.Load(source, filename, target, kind, parameters, members or [], seed))
        frame = self._receive()
        if isinstance(frame, protocol.Rejected):
            self._check_memory(frame.raised)
            raised = frame.raised
            self._stop(
                Verdict(frame.verdict), reason=frame.reason, name=raised.name, message=raised.message,
                line=raised.line,
            )  # fmt: skip
        if not isinstance(frame, protocol.Loaded):
            self._unexpected(frame)

    def case(self, drive_source: str, data: dict[str, Any], calls: object = None) -> CaseAnswer:
        """Run one case. Raises Stopped; raises what ``calls`` raises as ``Refused`` once the case is over."""
        self.begin_case(drive_source, protocol.packed(data))
        return self.end_case(calls)

    def begin_case(self, drive_source: str, data: msgspec.Raw) -> None:
        """Let the box begin a case; what the judge does until ``end_case`` it does beside it.

        ``data`` comes from ``protocol.packed``.
        """
        self._case_cpu_s = self.cpu_s
        self._send(protocol.RunCase(protocol.compiled(drive_source, "<drive>"), data))

    def end_case(self, calls: object = None) -> CaseAnswer:
        """The answer to the case that was begun. See ``case``."""
        refused: Refused | None = None
        emitted: list[Any] = []
        asked = 0
        while not isinstance(frame := self._receive(), protocol.Done):
            if isinstance(frame, protocol.Emit):
                emitted.append(frame.value)
            elif isinstance(frame, protocol.Call):
                asked += 1
                if asked > self._limits.calls:
                    self._stop(Verdict.OLE, reason="limit", limit="calls")
                try:
                    self._send(self._answer(frame, calls))
                except Refused as error:
                    refused = error
                    self._send(protocol.Reply(None, None, True))
            else:
                self._unexpected(frame)
        if refused is not None:
            raise refused
        if frame.raised is not None:
            self._check_memory(frame.raised)
        seconds = max(0.0, self.cpu_s - self._case_cpu_s)
        return CaseAnswer(emitted, frame.raised, frame.notes, seconds)

    def samples(
        self, source: str, filename: str = "samples.py", *, meanwhile: Callable[[], None] | None = None
    ) -> list[SampleAnswer]:
        """Run the public sample tests. Raises Stopped. ``meanwhile`` is called here while the box works."""
        self._send(_samples_order(source, filename))
        if meanwhile is not None:
            meanwhile()
        answers = []
        while not isinstance(frame := self._receive(), protocol.Done):
            if not isinstance(frame, protocol.Sample):
                self._unexpected(frame)
            fields = [getattr(frame, field) for field in protocol.Sample.__struct_fields__[1:]]
            answers.append(SampleAnswer(*fields))
        if frame.raised is not None:
            self._raised(frame.raised)
        return answers

    def engine(self, job: dict[str, Any], on_event: Callable[[dict[str, Any]], None]) -> Any:
        """Run the bundle's engine program with the loaded function; its events as they come, then its result.

        Raises Stopped. Time it by ``wall_s`` and ``cpu_s`` before and after, or at each event.
        """
        self._send(protocol.RunEngine(protocol.pack(job)))
        while not isinstance(frame := self._receive(), protocol.Result):
            if not isinstance(frame, protocol.Progress):
                self._unexpected(frame)
            on_event(frame.value)
        if frame.raised is not None:
            self._raised(frame.raised)
        return frame.value

    def finish(self) -> Usage:
        """End in order: the end frame, nothing after it, exit 0, no limit exceeded. Raises Stopped."""
        self._send(protocol.Finish())
        frame = self._receive()
        if not isinstance(frame, protocol.End):
            self._unexpected(frame)
        deadline = time.monotonic() + self._grace
        while not self._wait(deadline):
            if time.monotonic() >= deadline:
                self._stop(Verdict.TLE, reason="limit", limit="wall")
        if self._incoming:
            self._stop(Verdict.PE, reason="frames after the end")
        ended = self._process.reap(self._grace)
        if ended is None or ended.status != 0 or ended.out_of_memory:
            self._ended()
        usage = self._usage()
        self.close()
        return usage

    def _answer(self, call: protocol.Call, calls: object) -> protocol.Reply:
        name = call.name
        method = getattr(calls, name, None) if name.isidentifier() and not name.startswith("_") else None
        if not callable(method) or isinstance(method, type):
            self._stop(Verdict.PE, reason="unknown call")
        try:
            return protocol.Reply(protocol.pack(method(*call.args)))
        except Refused:
            raise
        except Exception as error:  # whatever the arguments led to, it is the learner's to see
            return protocol.Reply(None, protocol.Raised(type(error).__name__, str(error)[:500]))

    def _check_memory(self, raised: protocol.Raised) -> None:
        if protocol.out_of_memory(raised):
            self._stop(Verdict.MLE, reason="limit", limit="memory", line=raised.line)

    def _raised(self, raised: protocol.Raised) -> NoReturn:
        self._check_memory(raised)
        detail = {"name": raised.name, "message": raised.message, "line": raised.line}
        self._stop(Verdict.RE, reason="exception", **detail)

    def _unexpected(self, frame: protocol.FromBox) -> NoReturn:
        self._stop(Verdict.PE, reason="unexpected frame", message=type(frame).__name__)
