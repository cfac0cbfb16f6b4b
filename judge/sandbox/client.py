"""The pool of boxes that the judge runs submissions in."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Literal, NamedTuple, Protocol

from judge.sandbox.box import Box
from judge.sandbox.bundle import Bundle
from judge.sandbox.limits import HostError, Limits
from judge.sandbox.process import Process
from judge.sandbox.weak import WeakBackend

_GRACE_S = 5.0


class Backend(Protocol):
    """Whatever starts boxes."""

    @property
    def isolation(self) -> str:
        """What holds boxes; waits until that is known. Raises HostError."""

    def spawn(self, bundle: Bundle, limits: Limits, slot: int) -> Process:
        """Start a box; ``slot`` is a small number that no other running box has."""

    def close(self) -> None:
        """End everything."""


class _Ready(NamedTuple):
    """A box that waits to be asked for."""

    key: str
    limits: Limits
    number: int
    process: Process

    def end(self) -> None:
        self.process.kill()
        self.process.reap(_GRACE_S)
        self.process.close()


class Pool:
    """Thread-safe; at most ``slots`` boxes run at a time.

    ``isolation``: "auto" isolates where the host can and else is weak, which the property of that name
    tells; "strict" raises HostError instead; "weak" never isolates. ``spare``: while there is nothing to do,
    one more box of the kind that was asked for last is made ready.
    """

    def __init__(
        self,
        *,
        isolation: Literal["auto", "strict", "weak"] = "auto",
        slots: int = 4,
        templates: int = 8,
        spare: bool = False,
        backend: Callable[[], Backend] | None = None,
    ) -> None:
        """``backend`` makes the one to use instead."""
        self._factory = backend
        self._wish = isolation
        self._templates = templates
        self._slots = slots
        self._numbers = list(range(slots + spare))
        self._condition = threading.Condition()
        self._spare: _Ready | None = None
        self._wanted: tuple[Bundle, Limits] | None = None
        self._maker = threading.Thread(target=self._make_spares, daemon=True) if spare else None
        self._lock = threading.Lock()
        self._backend: Backend | None = None
        self._closed = False
        self._tried = False

    def start(self) -> None:
        """Begin to start up, without waiting for it: by the first box it may be done."""
        self._started()

    @property
    def isolation(self) -> str:
        """What holds boxes here, such as "namespaces+cgroup1+seccomp" or "weak"; waits for the start."""
        return self._ready().isolation

    def box(self, bundle: Bundle, limits: Limits | None = None, *, often: bool = False) -> Box:
        """A fresh box; waits for a free slot. Raises Stopped (SE) when the sandbox fails, HostError.

        ``often``: such boxes are what a spare is made for.
        """
        self._ready()
        with self._condition:
            while not self._slots:
                self._condition.wait()
            self._slots -= 1
        return self._box(bundle, limits or Limits(), often)

    def box_if_free(self, bundle: Bundle, limits: Limits | None = None) -> Box | None:
        """The same without waiting, None when no slot is free: so ask for a box who holds one already."""
        self._ready()
        with self._condition:
            if not self._slots:
                return None
            self._slots -= 1
        return self._box(bundle, limits or Limits(), often=False)

    def _box(self, bundle: Bundle, limits: Limits, often: bool) -> Box:
        ready = self._take_spare(bundle, limits) if often else None
        number = ready.number if ready is not None else self._take_number()
        try:
            process = ready.process if ready is not None else self._ready().spawn(bundle, limits, number)
        except BaseException:
            self._give_back(number, None)
            raise
        return Box(process, limits, lambda: self._give_back(number, (bundle, limits) if often else None))

    def _take_spare(self, bundle: Bundle, limits: Limits) -> _Ready | None:
        """The spare if it is of this kind and alive; one of another kind ends."""
        with self._condition:
            ready, self._spare = self._spare, None
        if ready is None:
            return None
        if (ready.key, ready.limits) == (bundle.key, limits) and ready.process.reap(0.0) is None:
            return ready
        ready.end()
        self._give_number(ready.number)
        return None

    def close(self) -> None:
        """End everything that still runs."""
        with self._lock:
            self._closed = True
            with self._condition:
                ready, self._spare, self._wanted = self._spare, None, None
                self._condition.notify_all()
            if ready is not None:
                ready.end()
            if self._backend is not None:
                self._backend.close()
                self._backend = None
        if self._maker is not None and self._maker.is_alive():
            self._maker.join()

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _give_back(self, number: int, again: tuple[Bundle, Limits] | None) -> None:
        with self._condition:
            self._numbers.append(number)
            self._slots += 1
            if again is not None and self._maker is not None and not self._closed:
                self._wanted = again
                if not self._maker.ident:
                    self._maker.start()
            self._condition.notify_all()

    def _take_number(self) -> int:
        with self._condition:
            return self._numbers.pop(0)

    def _give_number(self, number: int) -> None:
        with self._condition:
            self._numbers.append(number)

    def _make_spares(self) -> None:
        """A thread's work: one box ahead, whenever a slot is free."""
        while True:
            with self._condition:
                while not self._closed and (
                    self._wanted is None or self._spare is not None or not self._slots
                ):
                    self._condition.wait()
                if self._closed or self._wanted is None:
                    return
                (bundle, limits), self._wanted = self._wanted, None
                number = self._numbers.pop(0)
            try:
                process = self._ready().spawn(bundle, limits, number)
            except Exception:  # who asks for a box is told what is wrong; here nobody has asked
                self._give_number(number)
                continue
            with self._condition:
                if not self._closed:
                    self._spare = _Ready(bundle.key, limits, number, process)
                    self._condition.notify_all()
                    continue
            _Ready(bundle.key, limits, number, process).end()

    def _started(self) -> Backend:
        with self._lock:
            if self._closed:
                raise RuntimeError("this pool is closed")
            if self._backend is None:
                self._backend = self._make()
            return self._backend

    def _ready(self) -> Backend:
        """The backend once it is known to work here, or the one that this pool falls back on."""
        backend = self._started()
        with self._lock:
            if not self._tried:
                try:
                    backend.isolation  # noqa: B018 - waits, and raises where the host cannot isolate
                except HostError as error:
                    backend.close()
                    backend = self._backend = self._fall_back(str(error))
                self._tried = True
            return backend

    def _make(self) -> Backend:
        if self._factory is not None:
            return self._factory()
        if self._wish == "weak":
            return WeakBackend()
        if sys.platform != "linux":
            return self._fall_back(f"no isolation on {sys.platform}")
        from judge.sandbox.host import ZygoteBackend

        return ZygoteBackend(self._templates)

    def _fall_back(self, why: str) -> Backend:
        if self._wish == "strict":
            raise HostError(why)
        return WeakBackend(why)
