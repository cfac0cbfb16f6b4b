"""Trees of Python, compiled by Pyodide's own Python and packed; kept by what they are made of."""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tools.node import WEB, find_node
from tools.runtime.sources import ROOT, Files

PYODIDE = WEB / "node_modules" / "pyodide"
CACHE = ROOT / "build" / "runtime"
SITE_PACKAGES = "/lib/python3.14/site-packages"
_SCRIPT = Path(__file__).with_name("pack.mjs")


@dataclass(frozen=True)
class Tree:
    """Files that become one archive; see pack.mjs for `kind`. `prefix`: where they are in the tab."""

    name: str
    kind: Literal["tar", "zip"]
    prefix: str
    files: Files

    @property
    def packed(self) -> Path:
        """Where it is once it is packed."""
        return CACHE / f"{self.name}-{self._digest()}.{self.kind}.gz"

    def _digest(self) -> str:
        digest = hashlib.sha256(_SCRIPT.read_bytes() + (PYODIDE / "package.json").read_bytes())
        digest.update(f"{self.kind} {self.prefix}".encode())
        for name, content in sorted(self.files.items()):
            digest.update(f"{name} {len(content)}\n".encode() + content)
        return digest.hexdigest()[:16]


def stdlib() -> Tree:
    """Python's standard library as Pyodide brings it."""
    with zipfile.ZipFile(PYODIDE / "python_stdlib.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    return Tree("stdlib", "zip", "/lib/python314.zip", files)


def pack(trees: Sequence[Tree]) -> None:
    """Pack the trees that have changed. Raises NodeMissing, or CalledProcessError with Node's words."""
    CACHE.mkdir(parents=True, exist_ok=True)
    waiting = [tree for tree in trees if not tree.packed.is_file()]
    if not waiting:
        return
    print(f"runtime: compiling {', '.join(tree.name for tree in waiting)} for the tab", flush=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name:
        folder = Path(name)
        jobs = []
        for tree in waiting:
            for path, content in tree.files.items():
                target = folder / tree.name / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            out = folder / tree.packed.name
            source = str(folder / tree.name)
            jobs.append({"folder": source, "prefix": tree.prefix, "kind": tree.kind, "out": str(out)})
        job = folder / "job.json"
        job.write_text(json.dumps({"pyodide": str(PYODIDE), "packs": jobs}))
        find_node().run(str(_SCRIPT), str(job))
        for tree in waiting:
            for old in CACHE.glob(f"{tree.name}-*"):
                old.unlink()
            (folder / tree.packed.name).replace(tree.packed)
