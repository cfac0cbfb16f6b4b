"""`make setup`: a `.venv` with everything pinned, made once, and checked in a blink afterwards.

Only the standard library, since it runs before anything is installed. Everything that pip is told by PIP_*
variables or its configuration (index, proxy, extra links) holds here too.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / ".setup"
LAB_STAMP = VENV / ".setup-lab"
NOT_IN_LAB = ("@jupyterlab/apputils-extension:announcements", "@jupyterlite/pyodide-kernel-extension")
"""What asks to fetch news from another host, and what is only for `make lite`."""
INPUTS = ("pyproject.toml", "constraints.txt", "tools/setup_env.py")


def fingerprint(torch: str) -> str:
    """One string for all that decides what is installed: pins, interpreter, place, kind of torch."""
    digest = hashlib.sha256()
    for name in INPUTS:
        digest.update((ROOT / name).read_bytes())
    digest.update(f"{sys.version}|{ROOT}|{torch}".encode())
    return digest.hexdigest()


def is_current(mark: str) -> bool:
    """True if the environment was made from the same inputs and its interpreter still starts."""
    if not STAMP.exists() or STAMP.read_text() != mark or not PYTHON.exists():
        return False
    return subprocess.run([PYTHON, "-c", ""], check=False).returncode == 0


def pip(*args: str) -> None:
    """Run the environment's pip.

    Raises:
        SystemExit: pip failed; its own words stand above ours.
    """
    command = [str(PYTHON), "-m", "pip", *args]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit(
            "setup: pip failed (its message stands above). It follows your PIP_* settings; with a torch of "
            "your own, run: make setup TORCH=system. Run the command again when that is mended."
        )


def constraints(torch: str) -> Path:
    """The pins to install with; with a torch of the user's own, the torch pin is left out."""
    pins = ROOT / "constraints.txt"
    if torch != "system":
        return pins
    loose = VENV / "constraints.txt"
    loose.write_text("".join(line for line in pins.open() if not line.startswith("torch==")))
    return loose


def lab_packages(mark: str, torch: str) -> None:
    """Install JupyterLab and nbgrader unless they are there."""
    if LAB_STAMP.exists() and LAB_STAMP.read_text() == mark:
        return
    print("setup: installing JupyterLab and nbgrader (once, about 50 packages)", flush=True)
    pip("install", "--quiet", "--constraint", str(constraints(torch)), "--editable", ".[dev,lab]")
    for extension in NOT_IN_LAB:
        command = [str(PYTHON.parent / "jupyter"), "labextension", "disable", "--level=sys_prefix", extension]
        subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    LAB_STAMP.write_text(mark)


def web_packages() -> None:
    """Install the site's npm packages unless they are there. Without them all but the site works.

    `tools.node` runs in the environment, whose pip can fetch a Node where the machine has none.
    """
    lock, installed = ROOT / "web" / "package-lock.json", ROOT / "web" / "node_modules" / ".minisgl-lock"
    if installed.is_file() and installed.read_bytes() == lock.read_bytes():
        return
    print("setup: installing the site's npm packages into web/node_modules (once)", flush=True)
    if subprocess.run([PYTHON, "-m", "tools.node"], cwd=ROOT, check=False).returncode:
        print(
            "setup: the site cannot be built until that is mended (the message stands above); the command "
            "line and the judge work without it. Run the command again then.",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--torch", choices=("pip", "system"), default="pip", help="system: use the torch of this Python"
    )
    parser.add_argument("--lab", action="store_true", help="JupyterLab and nbgrader, too")
    options = parser.parse_args()
    torch: str = options.torch
    version = sys.version.split()[0]
    if sys.version_info < (3, 11):  # noqa: UP036 - the one file that an older Python gets to see
        sys.exit(f"setup: Python 3.11 or newer is needed, not {version}. Name one: make PYTHON=python3.12")
    mark = fingerprint(torch)
    if not is_current(mark):
        environment(mark, torch, version)
    web_packages()
    if options.lab:
        lab_packages(mark, torch)


def environment(mark: str, torch: str, version: str) -> None:
    """Make `.venv` and install what is pinned."""
    print(f"setup: making .venv with Python {version} (once; later runs skip this)", flush=True)
    if torch == "pip":
        print(
            "setup: torch is the one large download: about 0.2 GB as a CPU build; the Linux wheels of pip's "
            "default index carry CUDA, about 3 GB. To use one you have: make setup TORCH=system",
            flush=True,
        )
    STAMP.unlink(missing_ok=True)
    if VENV.exists() and not PYTHON.exists():
        shutil.rmtree(VENV)
    try:
        venv.create(VENV, with_pip=True, symlinks=os.name != "nt", system_site_packages=torch == "system")
    except subprocess.CalledProcessError:
        sys.exit(
            "setup: this Python cannot make an environment with pip. On Debian: apt-get install python3-venv"
        )
    pip("install", "--quiet", "--constraint", str(constraints(torch)), "--editable", ".[dev]")
    STAMP.write_text(mark)
    print("setup: done", flush=True)


if __name__ == "__main__":
    main()
