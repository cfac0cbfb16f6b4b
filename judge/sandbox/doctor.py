"""What this host can isolate, found by trying, and what to do about what it cannot."""

from __future__ import annotations

import platform
import sys

import msgspec

from judge.i18n import both
from judge.sandbox.bundle import Bundle, make_bundle
from judge.sandbox.client import Pool
from judge.sandbox.limits import HostError, Limits, Stopped
from judge.types import Text

_HONEST = b"def double(x):\n    return 2 * x\n"
_DRIVE = "def drive(target, case, io):\n    io.emit(target(case['x']))\n"
_WORD_OF_LIBRARY = "libseccomp"
_WORDS_OF_NAMESPACES = ("unshare", "setns", "uid_map", "setgroups", "mount", "pivot_root", "umount")


class Fact(msgspec.Struct, frozen=True):
    """One thing that was tried. ``text`` says how it went, and when not ``ok`` what to do."""

    key: str
    ok: bool
    text: Text


def examine() -> list[Fact]:
    """Try to isolate and to run something; takes as long as importing torch."""
    facts = [_system()]
    try:
        with Pool(isolation="strict", slots=1) as pool:
            facts.append(_isolation(pool.isolation))
            facts.append(_memory(pool.isolation))
            facts.append(_run(pool, make_bundle(None), "box"))
    except HostError as error:
        facts.append(
            Fact("isolation", False, both("doctor.isolation_missing", why=str(error), advice=_advice(error)))
        )
        with Pool(isolation="weak", slots=1) as pool:
            facts.append(_run(pool, make_bundle(None), "weak_box"))
    return [*facts, _gpu()]


def _gpu() -> Fact:
    """Having none is no fault."""
    import torch

    from judge.engine_tier import why_no_cuda

    why = why_no_cuda()
    if why is None:
        return Fact("gpu", True, both("doctor.gpu_ok", device=torch.cuda.get_device_name()))
    return Fact("gpu", True, both("doctor.gpu_none", why=both(f"cli.{why}")))


def _system() -> Fact:
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    version = platform.python_version()
    if sys.platform == "linux":
        return Fact("system", True, both("doctor.system_ok", system=system, python=version))
    return Fact("system", False, both("doctor.system_other", system=system, python=version))


def _isolation(isolation: str) -> Fact:
    if "(user)" in isolation:
        return Fact("isolation", True, both("doctor.isolation_user", isolation=isolation))
    return Fact("isolation", True, both("doctor.isolation_ok", isolation=isolation))


def _memory(isolation: str) -> Fact:
    """Without control groups boxes are still safe, so that is no fault of the host."""
    if "cgroup" in isolation:
        return Fact("memory", True, both("doctor.memory_groups"))
    return Fact("memory", True, both("doctor.memory_rlimits"))


def _run(pool: Pool, bundle: Bundle, key: str) -> Fact:
    try:
        with pool.box(bundle, Limits()) as box:
            box.load(_HONEST, filename="doctor.py", target="double")
            emitted = box.case(_DRIVE, {"x": 21}).emitted
            box.finish()
    except Stopped as stopped:
        return Fact(key, False, both("doctor.box_failed", why=str(stopped)))
    if emitted != [42]:
        return Fact(key, False, both("doctor.box_failed", why=repr(emitted)))
    return Fact(key, True, both(f"doctor.{key}_ok"))


def _advice(error: HostError) -> Text:
    text = str(error)
    if sys.platform != "linux":
        return both("doctor.advice_linux")
    if _WORD_OF_LIBRARY in text or "pyseccomp" in text:
        return both("doctor.advice_library")
    if any(word in text for word in _WORDS_OF_NAMESPACES):
        return both("doctor.advice_namespaces")
    return both("doctor.advice_other")
