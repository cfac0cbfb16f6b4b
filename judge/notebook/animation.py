"""Animations in JupyterLab: the modules that pages play, as widgets.

    from judge.notebook.animation import show_animation
    show_animation("kv_pool")                       # the recorded run
    show_animation("kv_pool", trace=recorder)       # your own: trace.Recorder, its events, or a .jsonl file

It needs anywidget, which comes with `make lab`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import anywidget
import traitlets

from judge.cli.language import from_locale
from judge.i18n import LANGS
from minisgl.utils.trace import Event, Recorder

ROOT = Path(__file__).resolve().parents[2]
# The site's, if it was built, or else those that are built for the notebook alone.
FOLDERS = (ROOT / "build" / "site" / "assets" / "animations", ROOT / "build" / "animations")

Trace: TypeAlias = Recorder | Sequence[Event] | str | Path


class Animation(anywidget.AnyWidget):
    """One animation. `step` follows what is shown, and can be set."""

    trace: traitlets.List[Any] = traitlets.List().tag(sync=True)
    lang = traitlets.Unicode("en").tag(sync=True)
    code = traitlets.Unicode("").tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)


def show_animation(
    name: str, trace: Trace | None = None, *, lang: str | None = None, code: str = ""
) -> Animation:
    """A widget that plays a trace.

    Args:
        name: such as "kv_pool"; an unknown one is answered with all there are.
        trace: a recorder, its events, or a JSON Lines file; by default the run that the book shows.
        lang: "zh" or "en"; by default as the locale says.
        code: the file whose lines the trace names, to show the line at each step.

    Raises:
        ValueError: there is no such animation or language.
        FileNotFoundError: there is no such trace file, or the animations could not be built.
    """
    lang = lang or from_locale()
    if lang not in LANGS:
        raise ValueError(f"lang must be one of {', '.join(LANGS)}, not {lang!r}")
    folder = built()
    names = sorted(path.stem for path in folder.glob("*.js") if path.stem != "element")
    if name not in names:
        raise ValueError(f"there is no animation {name!r}; there are {', '.join(names)}")
    events = events_of(folder / "traces" / f"{name}.jsonl" if trace is None else trace)
    return _class_of(folder / f"{name}.js")(trace=events, lang=lang, code=code)


def built() -> Path:
    """The folder with the modules; they are built when there is none, which takes some seconds.

    Raises:
        FileNotFoundError: they cannot be built; the message says why.
    """
    for folder in FOLDERS:
        if (folder / "element.js").is_file():
            return folder
    command = [sys.executable, "-m", "tools.animations.build", str(FOLDERS[-1])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FileNotFoundError(f"the animations cannot be built:\n{(done.stdout + done.stderr)[-2000:]}")
    return FOLDERS[-1]


def events_of(trace: Trace) -> list[dict[str, Any]]:
    """The events of a recorder, of a list, or of a JSON Lines file."""
    if isinstance(trace, Recorder):
        return list(trace.events)
    if isinstance(trace, str | Path):
        lines = Path(trace).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    return list(trace)


@lru_cache(maxsize=16)
def _class_of(module: Path) -> type[Animation]:
    """A class for each animation, because anywidget takes a module from the class."""
    return type("Animation", (Animation,), {"_esm": module.read_text(encoding="utf-8")})
