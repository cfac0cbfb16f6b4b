"""The few Linux calls that Python has no function for. Each raises OSError with the call's name."""

from __future__ import annotations

import ctypes
import os
import platform

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_NOSYMFOLLOW = 256
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

MADV_COLLAPSE = 25

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2

_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63

_libc = ctypes.CDLL(None, use_errno=True)


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapData(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def unshare(flags: int) -> None:
    """Leave the namespaces of ``flags`` for new ones."""
    _checked(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    """Enter the namespace of ``kind`` of the process behind the pidfd ``fd``."""
    _checked(_libc.setns(fd, kind), "setns")


def mount(source: str | None, target: str, filesystem: str | None, flags: int, data: str = "") -> None:
    """mount(2)."""
    result = _libc.mount(
        os.fsencode(source) if source else None,
        os.fsencode(target),
        filesystem.encode() if filesystem else None,
        ctypes.c_ulong(flags),
        data.encode() if data else None,
    )
    _checked(result, f"mount {target}")


def umount(target: str, flags: int) -> None:
    """umount2(2)."""
    _checked(_libc.umount2(os.fsencode(target), flags), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    """Make ``new`` the root; the former one appears at ``old``."""
    number = _PIVOT_ROOT.get(platform.machine())
    if number is None:
        raise OSError(f"pivot_root: unknown on {platform.machine()}")
    _checked(_libc.syscall(number, os.fsencode(new), os.fsencode(old)), "pivot_root")


def prctl(option: int, argument: int) -> None:
    """prctl(2) with one argument."""
    _checked(_libc.prctl(option, *map(ctypes.c_ulong, (argument, 0, 0, 0))), f"prctl {option}")


def madvise(address: int, length: int, advice: int) -> None:
    """madvise(2)."""
    result = _libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(length), advice)
    _checked(result, "madvise")


def drop_bounding_set() -> None:
    """No program that is run can gain a capability any more."""
    for capability in range(_LAST_CAPABILITY + 1):
        if _libc.prctl(PR_CAPBSET_DROP, *map(ctypes.c_ulong, (capability, 0, 0, 0))) != 0:
            return  # past the last one that this kernel knows


def drop_capabilities() -> None:
    """Give up all capabilities."""
    header = _CapHeader(_CAPABILITY_VERSION_3, 0)
    _checked(_libc.capset(ctypes.byref(header), ctypes.byref((_CapData * 2)())), "capset")


def load_filter(program: bytes) -> None:
    """Put a seccomp filter (BPF instructions of 8 bytes) on this thread and all that come from it."""
    buffer = ctypes.create_string_buffer(program, len(program))
    wrapped = _FilterProgram(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    result = _libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), ctypes.byref(wrapped), 0, 0)
    _checked(result, "seccomp")


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
