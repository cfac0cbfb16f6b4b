"""`python -m tools.steps`, on a small course of its own and on this one."""

import subprocess
from pathlib import Path

import pytest

from tools.steps import Steps, check, print_diff, print_tree

MANIFEST = """
[chapter.01]
new = ["minisgl/__init__.py", "minisgl/a.py"]

[chapter.02]
new = ["minisgl/b.py", "examples/ch02_two.py", "examples/stage1.py"]
modified = ["minisgl/a.py"]
main = "examples/ch02_two.py"
milestone = "examples/stage1.py"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        "chapters/steps.toml": MANIFEST,
        "chapters/steps/01/minisgl/a.py": "value = 1\n",
        "minisgl/__init__.py": "",
        "minisgl/a.py": "from .b import two\n\nvalue = two\n",
        "minisgl/b.py": "two = 2\n",
        "examples/ch02_two.py": "from minisgl.a import value\n\nprint(value)\n",
        "examples/stage1.py": "print('end of stage 1')\n",
        "tests/examples/ch02_two.txt": "2\n",
        "tests/examples/stage1.txt": "end of stage 1\n",
        "tests/chapters/test_ch01_one.py": "from minisgl.a import value\ndef test_it(): assert value == 1\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_each_chapter_has_its_own_version_of_a_file(root: Path) -> None:
    steps = Steps(root)
    assert steps.tree(1) == {
        "minisgl/__init__.py": root / "minisgl/__init__.py",
        "minisgl/a.py": root / "chapters/steps/01/minisgl/a.py",
    }
    assert steps.tree(2)["minisgl/a.py"] == root / "minisgl/a.py"
    assert steps.problems() == []


def test_the_tree_tells_what_is_new(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_tree(Steps(root), 2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "5 files (3 new, 1 modified, 0 brought in early)"
    assert [line.split()[1:] for line in lines if line.startswith("minisgl/a.py")] == [["modified"]]


def test_the_diff_is_between_the_two_versions(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_diff(Steps(root), 2)
    out = capsys.readouterr().out
    assert "-value = 1\n+from .b import two" in out and "--- /dev/null\n+++ b/minisgl/b.py" in out


def test_check_runs_example_and_tests_of_each_chapter(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(Steps(root), [1, 2]) == 0
    assert capsys.readouterr().out == "chapter 1: ok\nchapter 2: ok\n"


@pytest.mark.parametrize(
    ("chapters", "path", "text", "reason"),
    [
        ([2], "tests/examples/ch02_two.txt", "3\n", "does not print"),
        ([2], "examples/ch02_two.py", "1 / 0\n", "ZeroDivisionError"),
        ([2], "examples/stage1.py", "", "examples/stage1.py does not print stage1.txt"),
        ([1], "chapters/steps/01/minisgl/a.py", "value = 7\n", "its tests fail"),
        (
            [1],
            "chapters/steps/01/minisgl/a.py",
            "from .b import two\n",
            "minisgl/a.py: minisgl.b.two is brought in early",
        ),
        ([2], "minisgl/b.py", "three = 3\n", "minisgl/a.py: minisgl.b.two is brought in early"),
        ([], "chapters/steps/01/minisgl/a.py", "from .b import two\n\nvalue = two\n", "is the same"),
        ([], "chapters/steps/02/minisgl/b.py", "", "belongs to no chapter"),
        ([], "minisgl/c.py", "", "is brought by no chapter"),
    ],
)
def test_check_finds(
    root: Path, chapters: list[int], path: str, text: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    assert check(Steps(root), chapters) == 1
    assert reason in capsys.readouterr().err


def test_a_missing_older_version_is_named(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "chapters/steps/01/minisgl/a.py").unlink()
    assert check(Steps(root), []) == 1
    assert "chapters/steps/01/minisgl/a.py is missing" in capsys.readouterr().err


def test_a_change_is_carried_into_the_older_versions(root: Path) -> None:
    final, older = root / "minisgl/a.py", root / "chapters/steps/01/minisgl/a.py"
    lines = ["def f(x):", "    return x", "", "", *["#"] * 4, "", "", "def g(x):", "    return x"]
    final.write_text("\n".join(["from .b import two", "", "", *lines, "", "", "value = two"]))
    older.write_text("\n".join([*lines, "", "", "value = 1"]))
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *command], cwd=root, check=True)
    steps = Steps(root)
    assert steps.carry("HEAD") == []
    final.write_text(
        final.read_text()
        .replace("def f(x):\n    return x", "def f(x):\n    return -x")
        .replace("= two", "= -two")
    )
    (told,) = steps.carry("HEAD")
    assert told.startswith("chapters/steps/01/minisgl/a.py: changed; conflicts, left out: 1.")
    assert older.read_text().startswith("def f(x):\n    return -x")
    assert older.read_text().endswith("value = 1")


STEPS = Steps()


def test_every_file_of_the_engine_belongs_to_a_chapter() -> None:
    """What to do when this fails: CONTRIBUTING.md, "Change the engine"."""
    assert STEPS.problems() == []


@pytest.mark.parametrize("chapter", STEPS.steps)
def test_nothing_is_brought_in_early(chapter: int) -> None:
    assert STEPS.brought_early(chapter) == []


@pytest.mark.slow
@pytest.mark.parametrize("chapter", STEPS.steps)
def test_every_chapter_runs(chapter: int) -> None:
    assert STEPS.run(chapter) == []
