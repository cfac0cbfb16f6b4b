"""What goes into the tab, and what must not; what is fetched is checked."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from judge.exercises import load_exercises
from tools.runtime import numpy_wheel as wheel
from tools.runtime.api import api
from tools.runtime.build import FRAME_SCRIPT, build, frame_script_hash
from tools.runtime.offline import write_precache
from tools.runtime.sources import ROOT, site_files

FILES = site_files()


def test_what_the_runner_imports_is_there() -> None:
    for name in (
        "judge_runner/tab.py", "torch/__init__.py", "tokenizers/__init__.py", "safetensors/__init__.py",
        "minisgl/llm/llm.py", "judge/swap/program.py", "judge/parsing.py", "examples/ch00_tiny_engine.py",
        "pyflakes/checker.py", "pyflakes/LICENSE",
    ):  # fmt: skip
        assert name in FILES


def test_nothing_secret_is_there() -> None:
    assert [name for name in FILES if "hidden" in name or name.startswith(("solutions", "tests"))] == []
    everything = b"\n".join(FILES.values())
    for exercise in load_exercises().values():
        hidden = exercise.hidden_path.read_bytes()
        assert hidden not in everything
        if exercise.module is None and exercise.place == "adapter":
            body = exercise.solution_path.read_text().split('"""')[-1].strip()
            assert body.encode() not in everything


def test_words_of_the_catalogue_are_the_same() -> None:
    for lang in ("zh", "en"):
        whole = tomllib.loads((ROOT / "i18n" / f"{lang}.toml").read_text("utf-8"))
        own = tomllib.loads(FILES[f"i18n/{lang}.toml"].decode())
        assert own == {name: whole[name] for name in ("verdict", "runner")}


def test_the_editor_knows_names_of_engine_and_torch() -> None:
    entries = {entry["name"]: entry for entry in json.loads(api(FILES))}
    assert entries["CacheManager.lock"]["signature"] == "(handle: BaseCacheHandle) -> None"
    assert entries["CacheManager.lock"]["doc"]
    assert entries["torch.arange"]["kind"] == "function"
    assert entries["Tensor.clone"]["kind"] == "method"
    assert not [name for name in entries if name.rpartition(".")[2].startswith("__")]


def test_a_wheel_with_another_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINISGL_CACHE", str(tmp_path))
    monkeypatch.setattr(wheel, "_fetched", lambda: b"something else")
    with pytest.raises(wheel.Unavailable, match="not used"):
        wheel.numpy_wheel()
    assert not (tmp_path / "pyodide" / wheel.WHEEL).exists()


def test_a_fetch_that_fails_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINISGL_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(wheel.Unavailable, match="PIP_"):
        wheel.numpy_wheel()


def test_the_built_folder_is_whole_and_made_once(tmp_path: Path) -> None:
    out = tmp_path / "runtime"
    build(out)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["frame"]["script"] == frame_script_hash()
    listed = [*manifest["files"].values(), *manifest["model"]]
    assert {path.name for path in out.iterdir()} == {
        "manifest.json", "api.json", "NOTICE.txt", *(entry["file"] for entry in listed),
    }  # fmt: skip
    for entry in listed:
        assert (out / entry["file"]).stat().st_size == entry["bytes"]
    library = zipfile.ZipFile(
        io.BytesIO(gzip.decompress((out / manifest["files"]["stdlib"]["file"]).read_bytes()))
    )
    assert "json/__init__.pyc" in library.namelist()
    with tarfile.open(out / manifest["files"]["engine"]["file"]) as archive:
        names = archive.getnames()
    assert "minisgl/llm/llm.pyc" in names
    with tarfile.open(out / manifest["files"]["numpy"]["file"]) as archive:
        assert [name for name in archive.getnames() if "LICENSE" in name and "dist-info" in name]
    assert not [name for name in names if name.endswith(".py")]

    before = {path.name: path.read_bytes() for path in out.iterdir()}
    build(out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["runtime"]


def test_the_frames_script_is_one_that_a_browser_reads_unchanged() -> None:
    """Its hash is of these bytes; a browser hashes the text after it has made line ends one way."""
    text = FRAME_SCRIPT.read_bytes().decode("ascii")
    assert "\r" not in text
    assert "</script" not in text.lower()
    assert "<!--" not in text


def test_the_list_of_the_sites_files_is_in_groups(tmp_path: Path) -> None:
    for name in (
        "index.html",
        "zh/index.html",
        "book/en/08.html",
        "assets/runtime/a.gz",
        "sw.js",
        "assets/x.css",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    write_precache(tmp_path)
    listed = json.loads((tmp_path / "precache.json").read_text())
    assert {group: sorted(files) for group, files in listed["groups"].items()} == {
        "common": ["assets/x.css", "index.html"],
        "zh": ["zh/index.html"],
        "en": ["book/en/08.html"],
        "runtime": ["assets/runtime/a.gz"],
    }
    (tmp_path / "index.html").write_text("new")
    write_precache(tmp_path)
    assert json.loads((tmp_path / "precache.json").read_text())["version"] != listed["version"]
