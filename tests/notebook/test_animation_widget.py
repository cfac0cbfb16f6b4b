"""Animations as widgets: they are made, and carry a run to the page."""

from __future__ import annotations

import json
from pathlib import Path

import anywidget
import pytest

from judge.notebook import animation
from judge.notebook.animation import show_animation
from minisgl.utils import trace
from tools.animations.build import NAMES, build


@pytest.fixture(scope="module", autouse=True)
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("animations")
    build(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(animation, "FOLDERS", (folder,))
        yield folder


@pytest.mark.parametrize("name", NAMES)
def test_each_animation_is_a_widget(name: str, modules: Path) -> None:
    widget = show_animation(name, lang="zh")
    assert isinstance(widget, anywidget.AnyWidget)
    assert widget.get_state(["lang", "step", "code"]) == {"lang": "zh", "step": 0, "code": ""}
    assert widget.trace[0]["seq"] == 0
    assert widget._esm == (modules / f"{name}.js").read_text(encoding="utf-8")


def test_a_run_of_one_s_own(tmp_path: Path) -> None:
    with trace.recording(trace.Recorder(clock=lambda: 0.0)) as recorder:
        trace.emit("allocate", pages=[0, 4])
    recorder.dump(tmp_path / "run.jsonl")
    for given in (recorder, recorder.events, tmp_path / "run.jsonl", str(tmp_path / "run.jsonl")):
        assert show_animation("kv_pool", given, lang="en").trace == recorder.events
    assert json.dumps(show_animation("kv_pool", recorder, lang="en").get_state()["trace"])


def test_a_wrong_name_is_answered_with_all_there_are() -> None:
    with pytest.raises(ValueError, match="cuda_graph, kv_pool"):
        show_animation("pool")
    with pytest.raises(ValueError, match="zh, en"):
        show_animation("kv_pool", lang="de")
    with pytest.raises(FileNotFoundError):
        show_animation("kv_pool", trace="no/such.jsonl")


def test_animations_are_built_when_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(animation, "FOLDERS", (tmp_path / "site", tmp_path / "own"))
    assert animation.built() == tmp_path / "own"
    assert (tmp_path / "own" / "kv_pool.js").is_file()
