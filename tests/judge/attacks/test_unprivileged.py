"""The same attacks without privileges: a user namespace holds the box, rlimits its memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from judge.sandbox import boot

ROOT = Path(__file__).parents[3]
NOBODY = 65534
CHOSEN = " or ".join(
    """test_01_fork_bomb test_03_tensor test_05_endless_loop_at test_07_ignores test_08 test_10_stdout test_13
    test_18 test_19_disk_fill_by test_23_sockets test_25 test_28_kill test_29 test_31_forges test_31_ends
    test_41_execve test_44 test_51_nothing test_53_the""".split()
)

BECOME = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from judge.sandbox import syscalls as sys_

view, argv, uid = json.loads(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4])
sys_.unshare(sys_.CLONE_NEWNS)
sys_.mount(None, "/", None, sys_.MS_REC | sys_.MS_PRIVATE)
sys_.mount("tmpfs", "/mnt", "tmpfs", 0, "mode=755")
for target, source in view.items():
    os.makedirs(target)
    sys_.mount(source, target, None, sys_.MS_BIND | sys_.MS_REC)
os.mkdir("/mnt/tmp")
os.chmod("/mnt/tmp", 0o1777)
os.setgroups([])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
os.chdir("/mnt/repo")
path = ":".join(["/mnt/repo", *(target for target in view if target.startswith("/mnt/site"))])
environ = {"PYTHONPATH": path, "LD_LIBRARY_PATH": "/mnt/python/lib", "PATH": "/usr/bin:/bin", "HOME": "/mnt/tmp", "TMPDIR": "/mnt/tmp", "PYTHONDONTWRITEBYTECODE": "1"}
os.execve(argv[0], argv, environ)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="without root, the whole suite runs unprivileged already")
@pytest.mark.timeout(600)
def test_attacks_as_nobody():
    """Run a part of this suite as the user nobody, who sees interpreter, packages and project below /mnt."""
    import json

    view = {"/mnt/python": sys.base_prefix, "/mnt/repo": str(ROOT)}
    for number, folder in enumerate(boot.package_folders()):
        view[f"/mnt/site{number}/site-packages"] = folder
    python = Path(sys._base_executable).resolve().relative_to(Path(sys.base_prefix).resolve())
    argv = [
        str(Path("/mnt/python", python)), "-m", "pytest", "tests/judge/attacks", "-q", "-x", "-k", f"{CHOSEN} or (test_54 and base)",
        "-p", "no:cacheprovider", "--basetemp=/mnt/tmp/pytest",
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", BECOME, str(ROOT), json.dumps(view), json.dumps(argv), str(NOBODY)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert done.stdout.count(".") > 40, done.stdout  # so many attacks were run
