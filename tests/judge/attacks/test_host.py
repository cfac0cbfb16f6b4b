"""Attacks on the host: its files, network, processes, kernel."""

import pytest
from arena import body


def test_18_rmtree_root(fire):
    attack = """
import shutil
shutil.rmtree('/', ignore_errors=True)
for name in ('/box', '/dev', '/usr', sys.prefix): shutil.rmtree(name, ignore_errors=True)
return x"""
    fire(body(attack), "WA", "RE", "TLE")


def test_18_rewrite_installed_packages(fire):
    attack = "open(torch.__file__, 'a').write('import os')"
    shot = fire(body(attack), "WA")
    assert shot.emitted[0][0]["error"] in ("OSError", "PermissionError")


SOCKETS = ["2, 1", "2, 2", "10, 1", "1, 1", "16, 3", "40, 1", "17, 3", "38, 5"]


@pytest.mark.parametrize("family_and_type", SOCKETS)
def test_23_sockets(fire, family_and_type):
    attack = f"import socket\nsocket.socket({family_and_type})\nreturn torch.cumsum(x, 0)"
    shot = fire(body(attack), "WA")
    assert shot.emitted[0][0] == {"error": "PermissionError"}


def test_23_socketpair(fire):
    fire(body("import socket\nsocket.socketpair()\nreturn torch.cumsum(x, 0)"), "WA")


def test_23_connect_by_the_inherited_socket(fire):
    attack = """
import array, socket
s = socket.socket(fileno=os.dup(3))
s.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1]))])
return torch.cumsum(x, 0)"""
    fire(body(attack), "WA", "PE")


@pytest.mark.parametrize("name", ["mem", "maps", "fd", "environ", "ns/pid", "cgroup", "root"])
def test_25_proc(fire, name):
    attack = f"open('/proc/self/{name}', 'rb').read(1)\nreturn torch.cumsum(x, 0)"
    shot = fire(body(attack), "WA")
    assert shot.emitted[0][0] == {"error": "FileNotFoundError"}


@pytest.mark.parametrize("call", ["ptrace(16, os.getppid(), 0, 0)", "ptrace(0, 0, 0, 0)"])
def test_27_ptrace(fire, call):
    shot = fire(body(f"ctypes.CDLL(None).{call}\nreturn torch.cumsum(x, 0)"), "RE")
    assert shot.detail["reason"] == "forbidden"


@pytest.mark.parametrize("number", [310, 311])
def test_27_process_vm(fire, number):
    shot = fire(body(f"ctypes.CDLL(None).syscall({number}, 1, 0, 0, 0, 0, 0)"), "RE")
    assert shot.detail["reason"] == "forbidden"


@pytest.mark.parametrize(
    "call", ["os.kill(-1, 9)", "os.killpg(0, 9)", "os.kill(os.getppid(), 9)", "os.kill(1, 9)"]
)
def test_28_kill(fire, call):
    shot = fire(body(f"{call}\nreturn torch.cumsum(x, 0)"), "WA")
    assert shot.emitted[0][0] == {"error": "PermissionError"}


@pytest.mark.parametrize("pid", ["1", "0", "-1"])
def test_28_pidfd_and_queued_signals(fire, pid):
    attack = f"""
libc = ctypes.CDLL(None)
results = [libc.syscall(434, {pid}, 0), libc.syscall(129, {pid}, 9, 0), libc.syscall(62, {pid}, 9)]
assert results == [-1, -1, -1], results
raise ValueError"""
    shot = fire(body(attack), "WA")
    assert shot.emitted[0][0] == {"error": "ValueError"}


def test_29_double_fork_daemon(fire):
    attack = """
libc = ctypes.CDLL(None)
if libc.fork() == 0:
    libc.setsid()
    if libc.fork() == 0:
        while True: time.sleep(1)
return x"""
    fire(body(attack), "WA", "RE")


def test_29_clone_without_a_thread(fire):
    attack = """
libc = ctypes.CDLL(None)
results = [libc.syscall(56, flags, 0, 0, 0, 0) for flags in (17, 0x100 | 0x4000 | 17, 0x10000000 | 17)]
results.append(libc.syscall(435, ctypes.create_string_buffer(88), 88))
assert results == [-1] * 4, results
raise ValueError"""
    shot = fire(body(attack), "WA")
    assert shot.emitted[0][0] == {"error": "ValueError"}


def test_39_unpickles_a_program(fire):
    attack = """
import pickle
class P:
    def __reduce__(self): return (os.system, ('touch pwned',))
torch.save(P(), '/box/p.pt')
torch.load('/box/p.pt', weights_only=False)
return x"""
    fire(body(attack), "RE", "WA")


def test_40_segmentation_fault(fire):
    shot = fire(body("ctypes.string_at(0)"), "RE")
    assert shot.detail["signal"] == "SIGSEGV"


def test_40_abort(fire):
    shot = fire(body("os.abort()"), "RE")
    assert shot.detail["reason"] in ("crash", "exit", "signal")


@pytest.mark.parametrize("program", ["sys.executable", "'/bin/sh'", "'/nonexistent'"])
def test_41_execve(fire, program):
    shot = fire(body(f"os.execv({program}, ['x'])"), "RE")
    assert shot.detail["reason"] == "forbidden"


def test_41_subprocess(fire):
    fire(body("import subprocess\nsubprocess.run(['/bin/sh', '-c', 'touch pwned'])"), "RE", "WA")


def test_42_old_system_calls_from_own_machine_code(fire):
    """getpid by int 0x80: the 32-bit table has other numbers, so a filter of numbers alone would be wrong."""
    attack = """
import mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')
call = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
call()
return torch.cumsum(x, 0)"""
    shot = fire(body(attack), "RE")
    assert shot.detail["reason"] == "forbidden"


def test_42_x32_system_calls(fire):
    shot = fire(body("ctypes.CDLL(None).syscall(0x40000000 + 39)\nreturn torch.cumsum(x, 0)"), "RE")
    assert shot.detail["reason"] == "forbidden"


KERNEL = {
    "io_uring_setup": 425,
    "userfaultfd": 323,
    "bpf": 321,
    "keyctl": 250,
    "unshare": 272,
    "setns": 308,
    "mount": 165,
    "pivot_root": 155,
    "chroot": 161,
    "perf_event_open": 298,
    "memfd_create": 319,
}


@pytest.mark.parametrize("name", KERNEL)
def test_43_kernel_surface(fire, name):
    shot = fire(body(f"ctypes.CDLL(None).syscall({KERNEL[name]}, 0, 0, 0, 0, 0)"), "RE")
    assert shot.detail["reason"] == "forbidden"


def test_44_raise_limits(fire):
    attack = """
import resource
for kind in range(16):
    try: resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError): continue
    raise AssertionError(kind)
while True: pass"""
    fire(body(attack), "TLE")


def test_44_become_root(fire):
    attack = """
libc = ctypes.CDLL(None)
results = [libc.setuid(0), libc.setgid(0), libc.setresuid(0, 0, 0), libc.setgroups(0, None)]
assert results == [-1] * 4, results
assert 0 not in (*os.getresuid(), *os.getresgid(), *os.getgroups())
raise ValueError"""
    shot = fire(body(attack), "WA")
    assert shot.emitted[0][0] == {"error": "ValueError"}


@pytest.mark.parametrize(
    "act",
    [
        "os.symlink('/etc/passwd', '/box/out')\nopen('/box/out').read()",
        "os.link(torch.__file__, '/box/out')",
        "os.mkfifo('/box/fifo')\nopen('/box/fifo')",
        "os.mknod('/box/node', 0o600 | 0o020000, os.makedev(1, 1))",
    ],
)
def test_46_links_and_fifos(fire, act):
    fire(body(f"{act}\nreturn torch.cumsum(x, 0)"), "WA", "RE", "TLE")
