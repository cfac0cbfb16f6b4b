"""An observer of every decision the engine takes.

Off by default: `emit` then costs a call and one `is None` test. While a `Recorder` is active (`recording`),
each event becomes one dict `{"v", "seq", "t", "type", "req"?, "line"?, ...}`, the record that
`trace.schema.json` describes and that `Recorder.dump` writes as JSON Lines. The judge compares these records
and the animations play them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

VERSION = 1
SCHEMA_PATH = Path(__file__).with_name("trace.schema.json")

Event = dict[str, Any]


class Recorder:
    """Collects the events of a run.

    `clock` gives each event's `t` in seconds, counted from the moment the recorder is made; with
    `lambda: 0.0` two runs that decide alike have equal events.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.events: list[Event] = []
        self._clock = clock
        self._start = clock()
        self._rows: dict[int, list[int]] = {}  # uid to the locations that its row is known to name
        self._watched: dict[int, tuple[int, torch.Tensor]] = {}  # uid to its row and the row's view
        self._req: int | None = None  # uid of the request that is being worked on

    def add(self, type: str, fields: dict[str, Any]) -> None:
        """Append one event. Tensors become lists now, because many of them are views that change later; a
        function is called only now; what is None is left out.
        """
        if self._req in self._watched:
            row, view = self._watched[self._req]
            self.add_row(self._req, row, view.tolist())
        event = self._new(type)
        if self._req is not None:
            event["req"] = self._req
        line = _learner_line()
        if line is not None:
            event["line"] = line
        for name, value in fields.items():
            value = value() if callable(value) else value
            if value is not None:
                event[name] = value.tolist() if isinstance(value, torch.Tensor) else value

    def _new(self, type: str) -> Event:
        """Append an event that says no more than its type."""
        event: Event = {"v": VERSION, "seq": len(self.events), "t": self._clock() - self._start, "type": type}
        self.events.append(event)
        return event

    @contextmanager
    def about(self, uid: int) -> Iterator[None]:
        """Events in this block belong to a request, also where the code that emits them does not know it."""
        self._req = uid
        try:
            yield
        finally:
            self._req = None

    def add_row(self, uid: int, row: int, locations: list[int]) -> None:
        """Append a `page_table_write` event if a request's row names other locations than when last seen."""
        known = self._rows.get(uid, [])
        changed = [i for i, place in enumerate(locations) if i >= len(known) or known[i] != place]
        if changed:
            start, end = changed[0], changed[-1] + 1
            self._rows[uid] = locations
            # no line: when it is seen, the learner's function has gone on already
            fields = {"req": uid, "row": row, "start": start, "locations": locations[start:end]}
            self._new("page_table_write").update(fields)

    def watch_row(self, uid: int, row: int, view: torch.Tensor) -> None:
        """Look at a row before each event about its request: what a function writes between two events is
        then recorded between them. `view` is the part of the row that is in use.
        """
        self.add_row(uid, row, view.tolist())
        self._watched[uid] = (row, view)

    def forget_row(self, uid: int) -> None:
        """The row will be another request's."""
        self._watched.pop(uid, None)
        self._rows.pop(uid, None)

    def of_type(self, *types: str) -> list[Event]:
        """The events of these types, in order."""
        return [event for event in self.events if event["type"] in types]

    def dump(self, path: str | Path) -> None:
        """Write JSON Lines, one event a line."""
        with Path(path).open("w", encoding="utf-8") as file:
            for event in self.events:
                file.write(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n")


_active: ContextVar[Recorder | None] = ContextVar("minisgl_trace", default=None)
_learner_files: list[str] = []


def emit(type: str, **fields: Any) -> None:
    """Record an event if somebody records. `req` is a request's uid."""
    recorder = _active.get()
    if recorder is not None:
        recorder.add(type, fields)


def active() -> Recorder | None:
    """The recorder of this thread, for callers whose fields are costly to compute."""
    return _active.get()


@contextmanager
def recording(recorder: Recorder) -> Iterator[Recorder]:
    """Send the events of this thread to `recorder`; an outer recording pauses meanwhile."""
    token = _active.set(recorder)
    try:
        yield recorder
    finally:
        _active.reset(token)


class learner_file:
    """Name the file a learner wrote (its code objects' `co_filename`): events that happen below a function of
    that file carry the line of it that was running. Registered from the call on, until the `with` block ends
    if there is one.
    """

    def __init__(self, filename: str) -> None:
        self.filename = filename
        _learner_files.append(filename)

    def __enter__(self) -> learner_file:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        _learner_files.remove(self.filename)


def _learner_line() -> int | None:
    """The line now running in the innermost frame that belongs to a learner's file."""
    if not _learner_files:
        return None
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename in _learner_files:
            return frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None
