"""What the build writes: modules that need nothing but a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from folding import TRACES

from tools.animations.build import NAMES


@pytest.mark.parametrize("name", [*NAMES, "element"])
def test_a_module_stands_alone(name: str, built: Path) -> None:
    code = (built / f"{name}.js").read_text(encoding="utf-8")
    assert not re.search(r"""\bfrom\s*["']|\bimport\s*["']|\brequire\(""", code)
    assert set(re.findall(r"https?://[^\s\"'`)]+", code)) <= {"http://www.w3.org/2000/svg"}
    assert "innerHTML" not in code and "eval(" not in code
    assert len(code) < 80_000


def test_the_folder_has_modules_traces_and_the_table(built: Path) -> None:
    names = {path.name for path in built.iterdir()}
    rest = {"element.js", "traces", "for_exercise.json", "zh.html", "en.html"}
    assert names == {*(f"{name}.js" for name in NAMES), *rest}
    assert all(f'name="{name}"' in (built / "zh.html").read_text(encoding="utf-8") for name in NAMES)
    assert {path.name for path in (built / "traces").iterdir()} == {
        path.name for path in TRACES.glob("*.jsonl")
    }


def test_the_table_names_exercises_and_animations(built: Path) -> None:
    table = json.loads((built / "for_exercise.json").read_text(encoding="utf-8"))
    chosen = [*table["exercises"].values(), table["otherwise"]]
    assert {name for names in chosen for name in names} <= set(NAMES)
    assert set(table["exercises"]) >= {"176", "188", "192", "193", "196"}
