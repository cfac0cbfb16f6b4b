"""The system calls that a box may make. Built once in the zygote, loaded in each box by one prctl."""

from __future__ import annotations

import errno
import tempfile
from types import ModuleType
from typing import Any

_ALLOWED = """
read write readv writev pread64 pwrite64 lseek close fstat newfstatat stat lstat statx readlink readlinkat
access faccessat faccessat2 openat open getdents64 getcwd fcntl dup dup2 dup3 pipe pipe2 flock
poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait
mkdir mkdirat unlink unlinkat rmdir rename renameat renameat2 ftruncate truncate fsync fdatasync chmod fchmod
umask chdir fchdir utimensat statfs fstatfs fadvise64 fallocate copy_file_range sendfile
mmap munmap mremap mprotect madvise brk mincore membarrier
futex futex_waitv set_robust_list get_robust_list rseq set_tid_address gettid getpid getppid getuid geteuid
getgid getegid getresuid getresgid getpgrp getgroups tgkill
rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack rt_sigpending rt_sigtimedwait restart_syscall
clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage
getitimer setitimer alarm
sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min
sysinfo uname getcpu getrandom getrlimit arch_prctl exit exit_group
"""
# No kill: a crash (abort) signals its own thread by tgkill, and nothing else has a reason to.

_KILLS = """
ptrace process_vm_readv process_vm_writev execve execveat mount umount2 pivot_root chroot unshare setns bpf
perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register kexec_load init_module
finit_module keyctl add_key request_key memfd_create memfd_secret
"""
# These would fail with EPERM as well; whoever calls them is ended at once, and the verdict can say so.

_CLONE_THREAD = 0x00010000
_PRCTLS = (15, 16, 0x53564D41)  # set and get a thread's name, name a memory mapping
_IOCTLS = (0x5401, 0x541B, 0x5413)  # TCGETS, FIONREAD, TIOCGWINSZ: what isatty and open() ask


def build() -> bytes:
    """The filter as BPF instructions. Raises RuntimeError or ImportError when libseccomp is not there."""
    import pyseccomp

    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    for name in _ALLOWED.split():
        _add(pyseccomp, rules, pyseccomp.ALLOW, name)
    for name in _KILLS.split():
        _add(pyseccomp, rules, pyseccomp.KILL_PROCESS, name)
    thread = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, _CLONE_THREAD, _CLONE_THREAD)
    rules.add_rule(pyseccomp.ALLOW, "clone", thread)
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")  # flags in memory: libc falls back to clone
    rules.add_rule(pyseccomp.ALLOW, "prlimit64", pyseccomp.Arg(2, pyseccomp.EQ, 0))  # asking, not setting
    for option in _PRCTLS:
        rules.add_rule(pyseccomp.ALLOW, "prctl", pyseccomp.Arg(0, pyseccomp.EQ, option))
    for request in _IOCTLS:
        rules.add_rule(pyseccomp.ALLOW, "ioctl", pyseccomp.Arg(1, pyseccomp.EQ, request))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add(pyseccomp: ModuleType, rules: Any, action: int, name: str) -> None:
    number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
    if number >= 0:  # else no call of this architecture, or one that libseccomp does not know
        rules.add_rule(action, number)
