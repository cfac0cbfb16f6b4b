"""`make lite`: build/lite, a JupyterLab that any static host can serve, with the notebooks in both languages.

Nothing is fetched: the packages are those of the environment, Python is the site's own Pyodide. Only numpy
for the browser is downloaded, once, as for the site.
"""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.animations.build import build as build_animations
from tools.folders import replace_folder
from tools.lite.packages import wheels
from tools.lite.wheels import NotPure, Wheel
from tools.node import NodeMissing, install_packages
from tools.runtime.numpy_wheel import Unavailable
from tools.runtime.packs import PYODIDE, pack, stdlib
from tools.runtime.sources import ROOT

OUT = ROOT / "build" / "lite"
NOTEBOOKS = ROOT / "chapters"
EXTENSIONS = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
KERNEL = "@jupyterlite/pyodide-kernel-extension"
USED = (KERNEL, "@jupyter-widgets/jupyterlab-manager", "anywidget")
"""Extensions of the environment that work without a server."""

PYTHON_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm")


def build(out: Path, notebooks: Path = NOTEBOOKS) -> None:
    """Make `out` anew, with what is in `notebooks/zh` and `notebooks/en`.

    Raises:
        Unavailable, NodeMissing, NotPure: something that it needs is not here; each says what to do.
        subprocess.CalledProcessError: a builder failed; its own words stand on stderr.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    install_packages()
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as name:
        folder = Path(name)
        fresh = folder / "site"
        _jupyter_lite(folder, fresh, notebooks)
        _python(folder, fresh)
        fresh.chmod(0o755)
        replace_folder(fresh, out)


def _jupyter_lite(folder: Path, fresh: Path, notebooks: Path) -> None:
    """The static JupyterLab, with the notebooks as its files."""
    contents = folder / "contents"
    for lang in ("zh", "en"):
        (contents / lang).mkdir(parents=True)
        for path in sorted((notebooks / lang).glob("*.ipynb")):
            shutil.copyfile(path, contents / lang / path.name)
    lite = folder / "lite"
    lite.mkdir()
    # every cell is in the page, so that the browser's search and a screen reader find them
    shown = {"@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}}
    (lite / "overrides.json").write_text(json.dumps(shown), encoding="utf-8")
    config = {
        "LiteBuildConfig": {
            "lite_dir": str(lite),
            "output_dir": str(fresh),
            "contents": [str(contents)],
            "apps": ["lab", "notebooks"],
            "no_sourcemaps": True,
            "ignore_sys_prefix": ["federated_extensions"],
            "federated_extensions": [str(EXTENSIONS / name) for name in USED],
            "cache_dir": str(folder / "cache"),
        }
    }
    (folder / "jupyter_lite_config.json").write_text(json.dumps(config), encoding="utf-8")
    command = [sys.executable, "-m", "jupyterlite_core.app", "build", "--config"]
    command += [str(folder / "jupyter_lite_config.json")]
    done = subprocess.run(command, cwd=lite, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stdout[-4000:] + done.stderr[-4000:])
        raise subprocess.CalledProcessError(done.returncode, command)


def _python(folder: Path, fresh: Path) -> None:
    """Pyodide, the packages with their lock, and the settings that name them."""
    animations = folder / "animations"
    build_animations(animations)
    target = fresh / "python"
    target.mkdir()
    for name in PYTHON_FILES:
        shutil.copyfile(PYODIDE / name, target / name)
    tree = stdlib()
    pack([tree])
    (target / "python_stdlib.zip").write_bytes(gzip.decompress(tree.packed.read_bytes()))
    found = wheels(EXTENSIONS / KERNEL / "static" / "pypi", animations)
    for wheel in found:
        (target / wheel.file).write_bytes(wheel.content)
    (target / "pyodide-lock.json").write_text(json.dumps(lock(found)), encoding="utf-8")
    path = fresh / "jupyter-lite.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    config = settings["jupyter-config-data"]
    config["appName"] = "minisgl"
    config.setdefault("litePluginSettings", {})[f"{KERNEL}:kernel"] = {
        "pyodideUrl": "./python/pyodide.mjs",
        "disablePyPIFallback": True,
        "loadPyodideOptions": {
            "lockFileURL": "./python/pyodide-lock.json",
            "packages": [wheel.name for wheel in found],
        },
    }
    path.write_text(json.dumps(settings, indent=1), encoding="utf-8")


def lock(found: Sequence[Wheel]) -> dict[str, Any]:
    """The lock file that names them; Python itself checks the hashes."""
    official = json.loads((PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8"))
    packages = {
        wheel.name: {
            "name": wheel.name,
            "version": wheel.version,
            "file_name": wheel.file,
            "install_dir": "site",
            "sha256": wheel.sha256,
            "package_type": "package",
            "imports": list(wheel.imports),
            "depends": list(wheel.depends),
            "unvendored_tests": False,
        }
        for wheel in found
    }
    return {"info": official["info"], "packages": packages}


def main() -> int:
    """Build it and say how to look at it."""
    try:
        build(OUT)
    except importlib.metadata.PackageNotFoundError as error:
        print(f"lite: {error.name} is not installed; run: make lab-setup", file=sys.stderr)
        return 1
    except (Unavailable, NodeMissing, NotPure) as error:
        print(f"lite: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failed:
        print(f"lite: {' '.join(map(str, failed.cmd[:3]))} failed; its words stand above", file=sys.stderr)
        return 1
    print(f"lite: {OUT.relative_to(ROOT)}; look at it with: python -m http.server -d build/lite 8080")
    return 0


if __name__ == "__main__":
    sys.exit(main())
