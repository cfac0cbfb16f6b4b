"""Assemble what Python in the tab needs into one folder: `python -m tools.runtime.build FOLDER`.

Files carry their hash in their name; `manifest.json` names them with sizes and hashes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.folders import replace_folder
from tools.node import WEB, NodeMissing, find_node, install_packages
from tools.runtime.api import api
from tools.runtime.numpy_wheel import Unavailable, numpy_wheel, unpack_slim
from tools.runtime.packs import CACHE, PYODIDE, SITE_PACKAGES, Tree, pack, stdlib
from tools.runtime.sources import ROOT, Files, site_files

FRAME_SCRIPT = WEB / "src" / "runner" / "frame" / "inside.js"
MODEL = ROOT / "minisgl" / "assets" / "minisgl-tiny"
MODEL_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "model.safetensors",
)
MODEL_FOLDER = f"{SITE_PACKAGES}/minisgl/assets/minisgl-tiny"


def frame_script_hash() -> str:
    """What `script-src` of a page's policy has to name, quotes included, for its sandboxed frame to start."""
    return f"'{_integrity(FRAME_SCRIPT.read_bytes())}'"


def build(out: Path) -> None:
    """Make `out` anew; what has not changed since the last time is not made again.

    Raises:
        Unavailable, NodeMissing: numpy for the tab cannot be fetched, there is no Node. Both say what to do;
            the rest of the site works without.
        subprocess.CalledProcessError: npm or Vite failed; their own words stand on stderr.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        manifest = _assembled(fresh)
        (fresh / "manifest.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False), "utf-8")
        fresh.chmod(0o755)
        replace_folder(fresh, out)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _assembled(folder: Path) -> dict[str, Any]:
    install_packages()
    files_of_site = site_files()
    parts = _parts(files_of_site)
    shutil.copyfile(Path(__file__).with_name("NOTICE.txt"), folder / "NOTICE.txt")
    (folder / "api.json").write_bytes(api(files_of_site))
    files = {name: _placed(folder, file_name, content) for name, (file_name, content) in parts.items()}
    model = []
    for name in MODEL_FILES:
        entry = _placed(folder, name, (MODEL / name).read_bytes())
        model.append({**entry, "path": f"{MODEL_FOLDER}/{name}"})
    return {"frame": {"script": frame_script_hash()}, "files": files, "model": model}


def _parts(files_of_site: Files) -> dict[str, tuple[str, bytes]]:
    """Name in the manifest, file name, content."""
    with tempfile.TemporaryDirectory() as name:
        unpack_slim(numpy_wheel(), Path(name))
        found = (path for path in Path(name).rglob("*") if path.is_file())
        numpy_files = {path.relative_to(name).as_posix(): path.read_bytes() for path in found}
    trees = [
        stdlib(),
        Tree("numpy", "tar", SITE_PACKAGES, numpy_files),
        Tree("engine", "tar", SITE_PACKAGES, files_of_site),
    ]
    pack(trees)
    parts = {tree.name: (f"{tree.name}.{tree.kind}.gz", tree.packed.read_bytes()) for tree in trees}
    wasm = gzip.compress((PYODIDE / "pyodide.asm.wasm").read_bytes(), 9, mtime=0)
    worker = gzip.compress(_worker(), 9, mtime=0)
    return {"worker": ("worker.js.gz", worker), "wasm": ("python.wasm.gz", wasm), **parts}


def _worker() -> bytes:
    """The worker's script, built by Vite if a source of it has changed."""
    sources = [WEB / "package-lock.json", WEB / "vite.worker.config.ts", WEB / "src/runner/wire.ts"]
    sources += sorted((WEB / "src/runner/worker").rglob("*.ts"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    built = CACHE / f"worker-{digest}.js"
    if not built.is_file():
        with tempfile.TemporaryDirectory(dir=WEB) as name:
            vite = WEB / "node_modules" / "vite" / "bin" / "vite.js"
            options = ["build", "--config", "vite.worker.config.ts", "--outDir", name]
            find_node().run(str(vite), *options)
            CACHE.mkdir(parents=True, exist_ok=True)
            for old in CACHE.glob("worker-*"):
                old.unlink()
            shutil.copyfile(Path(name) / "worker.js", built)
    return built.read_bytes()


def _placed(folder: Path, name: str, content: bytes) -> dict[str, Any]:
    """Write a file under a name with its hash in it, which may be cached for ever."""
    stem, _, rest = name.partition(".")
    file_name = f"{stem}-{hashlib.sha256(content).hexdigest()[:12]}.{rest}"
    (folder / file_name).write_bytes(content)
    return {"file": file_name, "bytes": len(content), "integrity": _integrity(content)}


def _integrity(content: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site" / "assets" / "runtime")
    except (Unavailable, NodeMissing) as error:
        sys.exit(f"runtime: {error}")
    except subprocess.CalledProcessError as failed:
        sys.exit(f"runtime: {' '.join(map(str, failed.cmd[:3]))} failed; its message stands above")
