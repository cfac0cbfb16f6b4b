"""Every example prints what is stored beside this file: `chNN_slug.txt`; for a stage, `stageN_word.txt`."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
STORED = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.stem)
def test_the_example_prints(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / f"{stored.stem}.py"), run_name="__main__")
    assert capsys.readouterr().out == stored.read_text(encoding="utf-8")


def test_every_example_has_its_stored_output() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {path.stem for path in STORED}
