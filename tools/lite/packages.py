"""What the kernel in the browser brings along: IPython, widgets, numpy, the engine, the judge's samples."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

from judge.exercises import load_exercises
from judge.source import interface
from tools.lite.wheels import Files, Wheel, installed, made
from tools.runtime.build import MODEL, MODEL_FILES
from tools.runtime.numpy_wheel import WHEEL as NUMPY
from tools.runtime.numpy_wheel import numpy_wheel
from tools.runtime.sources import ROOT, site_files

# What each needs in the browser; pexpect and psutil are for processes, which it has none of.
_INSTALLED: dict[str, tuple[str, ...]] = {
    "asttokens": (),
    "comm": (),
    "executing": (),
    "ipython-pygments-lexers": ("pygments",),
    "jedi": ("parso",),
    "matplotlib-inline": ("traitlets",),
    "parso": (),
    "prompt-toolkit": ("wcwidth",),
    "pure-eval": (),
    "pygments": (),
    "stack-data": ("asttokens", "executing", "pure-eval"),
    "traitlets": (),
    "typing-extensions": (),
    "wcwidth": (),
    "ipython": (
        "ipython-pygments-lexers",
        "jedi",
        "matplotlib-inline",
        "prompt-toolkit",
        "pygments",
        "stack-data",
        "traitlets",
        "typing-extensions",
    ),
    "jupyterlab-widgets": (),
    "ipywidgets": ("comm", "ipython", "jupyterlab-widgets", "traitlets", "widgetsnbextension"),
    "psygnal": ("typing-extensions",),
    "anywidget": ("ipywidgets", "psygnal", "typing-extensions"),
}
_QUICKER_WHEN_COMPILED = {"psygnal", "wcwidth"}
_KERNEL = {
    "ipykernel": ("pyodide-kernel",),
    "pyodide-kernel": ("comm", "ipython"),
    "widgetsnbextension": (),
}
"""Wheels that jupyterlite-pyodide-kernel carries: stand-ins and the kernel itself."""

_OF_THE_JUDGE = (
    "exercise_toml.py",
    "exercises.py",
    "cli/language.py",
    "notebook/animation.py",
    "notebook/card.py",
    "notebook/line.py",
)


def wheels(kernel: Path, animations: Path) -> list[Wheel]:
    """All of them.

    Args:
        kernel: the folder of wheels of jupyterlite-pyodide-kernel.
        animations: the folder of built animations.
    """
    found = [
        installed(name, depends, has_fallback=name in _QUICKER_WHEN_COMPILED)
        for name, depends in _INSTALLED.items()
    ]
    found += [_carried(kernel, name, depends) for name, depends in _KERNEL.items()]
    path = numpy_wheel()
    found.append(Wheel("numpy", NUMPY.split("-")[1], NUMPY, path.read_bytes(), ("numpy",)))
    found.append(made("piplite", "1.0", _tree(ROOT / "web" / "lite_kernel", "piplite")))
    # the kernel asks for it by name before it looks for piplite
    found.append(made("micropip", "1.0", _tree(ROOT / "web" / "lite_kernel", "micropip"), ("piplite",)))
    found.append(made("minisgl-course", "0.1.0", course(animations), ("numpy",)))
    found.append(made("minisgl-tiny", "0.1.0", _model()))
    return found


def course(animations: Path) -> Files:
    """The engine and all that the notebooks use. Nothing of judge/hidden, nor a solution."""
    files = site_files()
    files |= _tree(ROOT / "web" / "lite_kernel", "notebook_in_tab")
    files |= _tree(ROOT / "web" / "lite_kernel" / "absent", "transformers")
    for name in _OF_THE_JUDGE:
        files[f"judge/{name}"] = (ROOT / "judge" / name).read_bytes()
    files["judge/cli/__init__.py"] = b""
    files["judge/notebook/__init__.py"] = b"from notebook_in_tab import load_ipython_extension\n"
    for lang in ("zh", "en"):
        files[f"i18n/{lang}.toml"] = (ROOT / "i18n" / f"{lang}.toml").read_bytes()
    for path in sorted((ROOT / "examples").glob("*.py")):
        files[f"examples/{path.name}"] = path.read_bytes()
    exercises = load_exercises().values()
    for one in exercises:
        for path in _files(one.folder):
            files[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    interfaces = {one.id: interface(one) for one in exercises}
    files["notebook_in_tab/interfaces.json"] = json.dumps(interfaces, ensure_ascii=False).encode()
    for path in _files(animations):
        files[f"build/animations/{path.relative_to(animations).as_posix()}"] = path.read_bytes()
    return files


def _model() -> Files:
    """The bundled model, where the engine looks for it."""
    folder = MODEL.relative_to(ROOT).as_posix()
    return {f"{folder}/{name}": (MODEL / name).read_bytes() for name in MODEL_FILES}


def _carried(folder: Path, name: str, depends: tuple[str, ...]) -> Wheel:
    """The newest wheel called `name` in the folder."""
    path = sorted(folder.glob(f"{name.replace('-', '_')}-*.whl"))[-1]
    with zipfile.ZipFile(path) as archive:
        modules = {entry.split("/")[0] for entry in archive.namelist() if ".dist-info/" not in entry}
    version = path.name.split("-")[1]
    return Wheel(name, version, path.name, path.read_bytes(), tuple(sorted(modules)), depends)


def _tree(folder: Path, package: str) -> Files:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in _files(folder / package)
        if path.suffix == ".py"
    }


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
