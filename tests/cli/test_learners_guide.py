"""docs/learners.*.md: what the guide lets a learner type gives what the guide says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from judge.cli import main
from judge.cli.arguments import parse

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {lang: (ROOT / "docs" / f"learners.{lang}.md").read_text(encoding="utf-8") for lang in ("zh", "en")}


def block(lang: str, kind: str) -> str:
    found = re.search(rf"```{kind}\n(.*?)```", TEXTS[lang], re.S)
    assert found is not None
    return found[1]


def commands(lang: str) -> list[str]:
    """Every call of the command line, without its comment."""
    return re.findall(r"python practice/judge\.py((?: [\w.-]+)+)", TEXTS[lang])


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_first_try_is_wrong_as_told_and_the_second_accepted(lang, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MINISGL_WORKSPACE", str(tmp_path))
    file = tmp_path / "160_greedy_generate.py"
    file.write_text(block(lang, "python"))
    assert main(["160", "--no-engine", "--lang", lang]) == 1
    said = capsys.readouterr().out
    assert block(lang, "text") in said
    assert " 20 " in said.splitlines()[-1]
    assert file.read_text().count("start + 1") == 1
    file.write_text(file.read_text().replace("start + 1", "start + len(ids)"))
    assert main(["160", "--no-engine", "--lang", lang]) == 0


def test_both_guides_give_the_same_commands_and_each_is_one():
    assert commands("zh") == commands("en")
    for command in commands("zh"):
        parse(shlex.split(command), "en")
    headings = {lang: [len(line) for line in re.findall(r"^#+", text, re.M)] for lang, text in TEXTS.items()}
    assert headings["zh"] == headings["en"]
