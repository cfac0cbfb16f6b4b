"""Which Python files go into the tab. Nothing of judge/hidden or solutions does."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Files = dict[str, bytes]
"""Path below site-packages, and content."""

_NOT_OF_THE_ENGINE = re.compile(
    r"minisgl/(server|benchmark|assets|kernel/triton)/"
    r"|minisgl/(shell|__main__)\.py"
    r"|minisgl/distributed/(launch|worker|children)\.py"
    r"|minisgl/attention/(fa|fi|triton_backend)\.py"
    r"|minisgl/(models/gguf|utils/gguf_file|utils/gguf_tokenizer|utils/mp|tokenizer/server)\.py"
)
"""What needs processes, sockets, a GPU or a library that the tab lacks; imported only where it is used."""

_OF_THE_JUDGE = (
    "judge/__init__.py",
    "judge/chat.py",
    "judge/i18n.py",
    "judge/own_run.py",
    "judge/parsing.py",
    "judge/sample_words.py",
    "judge/sandbox/inside/__init__.py",
    "judge/sandbox/inside/samples.py",
)
_EMPTY = ("judge/sandbox/__init__.py", "examples/__init__.py")
"""Packages whose own code has no use in the tab."""

_SECTIONS = ("verdict", "runner")
_OURS = ("web/judge_runner", "web/torch_shim", "web/tab_io")


def site_files() -> Files:
    """The engine, the stand-in for torch, readers, public parts of the judge, pyflakes, and their words."""
    files = dict.fromkeys(_EMPTY, b"")
    for path in _python(ROOT / "minisgl"):
        name = path.relative_to(ROOT).as_posix()
        if not _NOT_OF_THE_ENGINE.match(name):
            files[name] = path.read_bytes()
    files["minisgl/utils/trace.schema.json"] = (ROOT / "minisgl/utils/trace.schema.json").read_bytes()
    for path in [*(ROOT / name for name in _OF_THE_JUDGE), *_python(ROOT / "judge/swap")]:
        files[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    files["examples/ch00_tiny_engine.py"] = (ROOT / "examples/ch00_tiny_engine.py").read_bytes()
    for folder in _OURS:
        for path in _python(ROOT / folder):
            files[path.relative_to(ROOT / folder).as_posix()] = path.read_bytes()
    files |= _pyflakes()
    for lang in ("zh", "en"):
        files[f"i18n/{lang}.toml"] = _words(lang)
    return files


def _python(folder: Path) -> Iterator[Path]:
    """Of a package or a folder of packages; what stands beside them (`tools`, `tests`) is for developers."""
    apart = {folder / "tools", folder / "tests"}
    return (path for path in sorted(folder.rglob("*.py")) if not apart & {*path.parents})


def _pyflakes() -> Files:
    """The installed package, which is pure Python."""
    spec = importlib.util.find_spec("pyflakes")
    if spec is None or spec.origin is None:
        raise RuntimeError("pyflakes is not installed: run make setup")
    package = Path(spec.origin).parent
    found = (path for path in _python(package) if path.parent.name != "test")
    files = {path.relative_to(package.parent).as_posix(): path.read_bytes() for path in found}
    licences = [path for path in importlib.metadata.files("pyflakes") or () if path.name == "LICENSE"]
    for path in licences:
        files["pyflakes/LICENSE"] = path.read_binary()
    return files


def _words(lang: str) -> bytes:
    """The sections of the catalogue that are used in the tab, as TOML."""
    catalogue = tomllib.loads((ROOT / "i18n" / f"{lang}.toml").read_text(encoding="utf-8"))
    lines = []
    for section in _SECTIONS:
        lines.append(f"[{section}]")
        lines += [f"{name} = {_quoted(text)}" for name, text in catalogue[section].items()]
    return "\n".join(lines).encode()


def _quoted(text: str) -> str:
    for character, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(character, escaped)
    return f'"{text}"'
