"""Boxes for the engine part on a GPU: fresh processes one after the other, outside of the sandbox.

CUDA does not survive a fork and wants device files, threads, a compiler: nothing of that goes with
namespaces, an empty file system and the filter of system calls. What is kept is a fresh process for each
run, its own scratch folder, a clean environment, limits of time and output, and that its memory holds no
secret.

Kernels are compiled at their first use and remembered in a folder. A learner's process gets a copy of that
folder, which is thrown away: it can plant nothing there. What the reference's process adds is kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from judge.sandbox.bundle import Bundle
from judge.sandbox.limits import Limits
from judge.sandbox.weak import WeakProcess

DEVICE_LIMITS = Limits(cpu_s=900.0, memory_mb=65536, wall_s=900.0, stdout_bytes=4 << 20)
"""Compiling kernels for the first time takes minutes, and compilers talk."""

_INHERITED = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_HOME",
    "CUDA_PATH",
    "LD_LIBRARY_PATH",
    "CC",
    "CXX",
    "TORCH_CUDA_ARCH_LIST",
    "FLASHINFER_CUDA_ARCH_LIST",
)


def default_cache() -> Path:
    """Where compiled kernels are remembered."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "minisgl-judge"


class DeviceBackend:
    """Starts one process at a time, whoever else judges on this machine: a device is shared with nobody.

    ``keeps``: what is compiled is remembered; for the reference's process alone.
    """

    def __init__(self, device: str, cache: Path, *, keeps: bool) -> None:
        self.isolation = f"process ({device})"
        self._cache, self._keeps = cache, keeps

    def spawn(self, bundle: Bundle, limits: Limits, slot: int) -> DeviceProcess:
        """A fresh interpreter with the bundle; waits until the device is free."""
        store = KernelStore(self._cache)
        try:
            process = DeviceProcess(store, keeps=self._keeps)
            process.equip(bundle, limits)
        except BaseException:
            store.release(keep=False)
            raise
        return process

    def close(self) -> None:
        """Nothing is left between two processes."""


class KernelStore:
    """The device's lock, and the folder that its one process compiles into: always at the same path."""

    def __init__(self, cache: Path) -> None:
        """Waits for the lock; then ``work`` is a copy of what is remembered."""
        cache.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(cache / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._kept, self.work = cache / "kept", cache / "work"
        shutil.rmtree(self.work, ignore_errors=True)  # of a judge that was killed
        if self._kept.is_dir():
            shutil.copytree(self._kept, self.work, symlinks=True)
        else:
            self.work.mkdir()

    def release(self, *, keep: bool) -> None:
        """Remember what was compiled, or forget it; then the device is free."""
        if self._lock < 0:
            return
        try:
            if keep:
                shutil.rmtree(self._kept, ignore_errors=True)
                self.work.rename(self._kept)
            else:
                shutil.rmtree(self.work, ignore_errors=True)
        finally:
            os.close(self._lock)
            self._lock = -1


class DeviceProcess(WeakProcess):
    """See ``Process``; closing it frees the device."""

    def __init__(self, store: KernelStore, *, keeps: bool) -> None:
        self._store, self._keeps = store, keeps
        self._home = tempfile.TemporaryDirectory(prefix="judge-")
        try:
            super().__init__(self._home.name, dict(_environment(store.work)))
        except BaseException:
            self._home.cleanup()
            raise

    def close(self) -> None:
        """Close the descriptors, remove the scratch folder, free the device."""
        super().close()
        ended = self.reap(0.0)
        with contextlib.suppress(OSError):
            self._home.cleanup()
        self._store.release(keep=self._keeps and ended is not None and ended.status == 0)

    def _memory_mb(self, limits: Limits) -> int | None:
        return None  # CUDA maps more than a machine has


def _environment(work: Path) -> Iterator[tuple[str, str]]:
    """Beside what every box gets: how to find the device and a compiler, and where kernels are remembered."""
    yield from ((name, os.environ[name]) for name in _INHERITED if name in os.environ)
    yield "PATH", os.environ.get("PATH", os.defpath)
    yield "TRITON_CACHE_DIR", str(work / "triton")
    yield "FLASHINFER_WORKSPACE_BASE", str(work)
    yield "CUDA_CACHE_PATH", str(work / "nv")
    yield "CUBLAS_WORKSPACE_CONFIG", ":4096:8"  # sums in one order, run for run
