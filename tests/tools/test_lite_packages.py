"""The wheels for JupyterLite: pure, the same each time, and complete for the notebooks."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from judge.exercises import load_exercises
from tools.lite.build import EXTENSIONS, KERNEL, lock
from tools.lite.packages import course, wheels
from tools.lite.wheels import NotPure, installed, made
from tools.runtime.sources import ROOT


@pytest.fixture(scope="module")
def animations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("animations")
    (folder / "kv_pool.js").write_text("export default {}")
    return folder


def test_a_wheel_is_the_same_each_time_and_lists_its_files() -> None:
    files = {"thing/__init__.py": b"x = 1\n", "thing/LICENSE": b"MIT"}
    one, two = (
        made("a-thing", "1.2", files, ("numpy",)),
        made("a-thing", "1.2", dict(reversed(files.items()))),
    )
    assert one.content == two.content and one.sha256 == two.sha256
    assert (one.file, one.imports) == ("a_thing-1.2-py3-none-any.whl", ("thing",))
    with zipfile.ZipFile(io.BytesIO(one.content)) as archive:
        record = archive.read("a_thing-1.2.dist-info/RECORD").decode()
        listed = {line.split(",")[0] for line in record.splitlines()}
        assert listed == set(archive.namelist())


def test_compiled_code_is_refused_unless_there_is_a_fallback() -> None:
    with pytest.raises(NotPure, match="numpy has compiled code"):
        installed("numpy")
    with zipfile.ZipFile(io.BytesIO(installed("wcwidth", has_fallback=True).content)) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".so")]


def test_every_package_that_one_needs_is_there(animations: Path) -> None:
    found = wheels(EXTENSIONS / KERNEL / "static" / "pypi", animations)
    names = {wheel.name for wheel in found}
    assert {need for wheel in found for need in wheel.depends} <= names
    assert set(lock(found)["packages"]) == names
    # what the kernel asks for when it starts; without one of them it would look for it elsewhere
    assert {"micropip", "piplite", "ipykernel", "comm", "pyodide-kernel", "jedi", "ipython"} <= names


def test_the_course_brings_what_notebooks_import_and_every_exercise(animations: Path) -> None:
    files = course(animations)
    assert {"judge/exercises.py", "examples/ch08_cache_manager.py", "build/animations/kv_pool.js"} <= set(
        files
    )
    interfaces = json.loads(files["notebook_in_tab/interfaces.json"])
    assert sorted(map(int, interfaces)) == sorted(load_exercises())
    for one in load_exercises().values():
        assert f"chapters/exercises/{one.key}/exercise.toml" in files
    for path in sorted((ROOT / "chapters" / "en").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        for path_named in [
            word for word in code.replace("(", " ").split('"') if word.startswith("examples/")
        ]:
            assert path_named in files
