"""The pool of boxes that the judge runs submissions in."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Literal, Protocol

from judge.sandbox.box import Box
from judge.sandbox.bundle import Bundle
from judge.sandbox.limits import HostError, Limits
from judge.sandbox.process import Process
from judge.sandbox.weak import WeakBackend


class Backend(Protocol):
    """Whatever starts boxes."""

    @property
    def isolation(self) -> str:
        """What holds boxes; waits until that is known. Raises HostError."""

    def spawn(self, bundle: Bundle, limits: Limits, slot: int) -> Process:
        """Start a box; ``slot`` is a small number that no other running box has."""

    def close(self) -> None:
        """End everything."""


class Pool:
    """Thread-safe; at most ``slots`` boxes run at a time.

    ``isolation``: "auto" isolates where the host can and else is weak, which the property of that name
    tells; "strict" raises HostError instead; "weak" never isolates.
    """

    def __init__(
        self,
        *,
        isolation: Literal["auto", "strict", "weak"] = "auto",
        slots: int = 4,
        templates: int = 8,
        backend: Callable[[], Backend] | None = None,
    ) -> None:
        """``backend`` makes the one to use instead."""
        self._factory = backend
        self._wish = isolation
        self._templates = templates
        self._free = list(range(slots))
        self._condition = threading.Condition()
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

    def box(self, bundle: Bundle, limits: Limits | None = None) -> Box:
        """A fresh box; waits for a free slot. Raises Stopped (SE) when the sandbox fails, HostError."""
        self._ready()
        with self._condition:
            while not self._free:
                self._condition.wait()
            slot = self._free.pop(0)
        return self._box(bundle, limits or Limits(), slot)

    def box_if_free(self, bundle: Bundle, limits: Limits | None = None) -> Box | None:
        """The same without waiting, None when no slot is free: so ask for a box who holds one already."""
        self._ready()
        with self._condition:
            if not self._free:
                return None
            slot = self._free.pop(0)
        return self._box(bundle, limits or Limits(), slot)

    def _box(self, bundle: Bundle, limits: Limits, slot: int) -> Box:
        try:
            backend = self._ready()
            process = backend.spawn(bundle, limits, slot)
        except BaseException:
            self._give_back(slot)
            raise
        return Box(process, limits, lambda: self._give_back(slot))

    def close(self) -> None:
        """End everything that still runs."""
        with self._lock:
            self._closed = True
            if self._backend is not None:
                self._backend.close()
                self._backend = None

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _give_back(self, slot: int) -> None:
        with self._condition:
            self._free.append(slot)
            self._condition.notify()

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
