"""Every example prints what is stored beside this file: `chNN_slug.txt`; for a stage, `stageN_word.txt`."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
STORED = sorted(Path(__file__).parent.glob("*.txt"))
# Those that start processes, set Triton up, or replace methods; the others share this one.
OWN_PROCESS = {"ch14", "ch15", "ch16", "ch18", "ch19", "ch20", "stage3", "stage4"}


@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.stem)
def test_the_example_prints(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = EXAMPLES / f"{stored.stem}.py"
    if stored.stem.partition("_")[0] in OWN_PROCESS:
        environment = dict(os.environ) | {"PYTHONPATH": str(ROOT)}
        out = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True)
        assert out.returncode == 0, out.stderr
        printed = out.stdout
    else:
        runpy.run_path(str(path), run_name="__main__")
        printed = capsys.readouterr().out
    assert printed == stored.read_text(encoding="utf-8")


def test_every_example_has_its_stored_output() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {path.stem for path in STORED}
