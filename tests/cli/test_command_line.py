"""The command line as a learner types it: words, files and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from judge.cli import commands, main
from judge.cli.language import choose, from_locale
from judge.exercises import find
from judge.solution import solution_text
from judge.starter import starter

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("MINISGL_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    return tmp_path


def run(capsys, *argv):
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("environ", "lang"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LC_MESSAGES": "zh_TW", "LANG": "en_US"}, "zh"),
        ({"LC_ALL": "", "LANG": "ZH"}, "zh"),
        ({}, "en"),
    ],
)
def test_the_locale_chooses_the_language(environ, lang):
    assert from_locale(environ) == lang


def test_lang_outranks_the_locale(monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert choose(["192", "--lang", "en"]) == "en"
    assert choose(["--lang=zh"]) == "zh"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["999"], "There is no exercise '999'"),
        (["test"], "Which exercise?"),
        (["hint"], "Which exercise?"),
        (["solution"], "Which exercise?"),
        (["192", "--fast"], "arguments are wrong"),
        (["192", "--lang", "fr"], "arguments are wrong"),
        (["192", "nowhere.py"], "nowhere.py does not exist"),
        (["192", "--device", "cuda"], "cannot run on a GPU here"),
        (["192", "--watch", "--json"], "do not go together"),
    ],
)
def test_a_wrong_command_is_one_clear_message_and_exit_2(workspace, capsys, argv, says):
    code, out, err = run(capsys, *argv)
    assert code == 2 and out == ""
    assert says in err and "Traceback" not in err


def test_wrong_usage_in_chinese(workspace, capsys):
    code, _, err = run(capsys, "--lang", "zh", "999")
    assert code == 2 and "没有练习" in err


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--fast"], "参数不对：没有 --fast。"),
        (["--device", "tpu"], "参数不对：--device 不能是 tpu，只能是 cpu, cuda 之一。"),
        (["--device"], "参数不对：--device 后面要写一个值。"),
        (["--json=1"], "参数不对：--json 不带值，却写了 1。"),
    ],
)
def test_what_is_wrong_with_the_arguments_is_said_in_chinese(workspace, capsys, argv, says):
    code, _, err = run(capsys, "--lang", "zh", "192", *argv)
    assert code == 2 and err.startswith(says)


def test_a_watched_file_that_goes_is_missed(workspace, monkeypatch, capsys):
    """It is there, gone twice, there again; then Ctrl-C."""
    path = workspace / "192_cache_req.py"
    path.write_text("x = 1\n")
    judged: list[str] = []
    monkeypatch.setattr(commands, "_judge_file", lambda exercise, path, _: judged.append(path.name) or 1)
    steps = iter([path.unlink, lambda: None, lambda: path.write_text("x = 2\n")])

    def sleep(seconds):
        try:
            next(steps)()
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(commands.time, "sleep", sleep)
    code, _, err = run(capsys, "192", "--watch")
    assert (code, judged) == (1, [path.name] * 2)
    assert err.count("192_cache_req.py is gone") == 1


def test_a_folder_or_a_huge_file_is_not_judged(workspace, capsys):
    code, _, err = run(capsys, "192", str(workspace))
    assert code == 2 and "is a folder" in err
    huge = workspace / "huge.py"
    huge.write_bytes(b"#" * 5_000_000)
    code, _, err = run(capsys, "192", str(huge))
    assert code == 2 and "4882 kB" in err and "64 kB" in err


def test_an_unreadable_name_is_not_a_crash(workspace, capsys):
    code, _, err = run(capsys, "192", "x" * 5000)
    assert code == 2 and err.strip()


def test_a_missing_default_file_is_made_from_the_starter(workspace, capsys):
    code, out, _ = run(capsys, "192")
    made = workspace / "192_cache_req.py"
    assert code == 1 and "made from the skeleton" in out
    assert "def cache_req" in made.read_text() and "NotImplementedError" in made.read_text()


def test_start_never_throws_work_away(workspace, capsys):
    made = workspace / "176_page_address.py"
    assert run(capsys, "start", "176")[0] == 0
    made.write_text("mine = 1\n")
    code, out, _ = run(capsys, "start", "page_address")
    assert code == 0 and "left as it is" in out and made.read_text() == "mine = 1\n"
    assert run(capsys, "start", "176", "--force")[0] == 0
    assert "def page_address" in made.read_text()
    assert [old.read_text() for old in workspace.glob("*.old")] == ["mine = 1\n"]


def test_list_marks_what_was_started(workspace, capsys):
    run(capsys, "start", "192")
    code, out, _ = run(capsys, "list")
    assert code == 0
    assert any(line.startswith("· 192") for line in out.splitlines())
    rows = json.loads(run(capsys, "list", "--json")[1])
    assert {row["exercise"] for row in rows} >= {176, 188, 192, 193, 196}
    assert next(row for row in rows if row["exercise"] == 192)["started"] is True


def test_hints_are_given_one_at_a_time(workspace, capsys):
    texts = [text["en"] for text in find("192").hints]
    code, out, _ = run(capsys, "hint", "192")
    assert code == 0 and texts[0] in out and texts[1] not in out and "hint 192 2" in out
    code, out, _ = run(capsys, "hint", "192", "3")
    assert code == 0 and texts[2] in out and "The next one" not in out
    for number in ("0", "4", "x"):
        code, _, err = run(capsys, "hint", "192", number)
        assert code == 2 and "3 hints" in err


def test_the_solution_is_shown_after_a_pass_only(workspace, capsys):
    code, out, err = run(capsys, "solution", "192")
    assert code == 1 and out == "" and "--force" in err
    code, out, _ = run(capsys, "solution", "192", "--force")
    assert code == 0 and "def cache_req" in out
    (workspace / ".accepted.json").write_text("[192]")
    assert run(capsys, "solution", "192")[0] == 0


@pytest.mark.parametrize("record", ["", "{", "{}", '["x"]', "null"])
def test_a_damaged_record_of_passes_counts_as_empty(workspace, capsys, record):
    (workspace / ".accepted.json").write_text(record)
    assert run(capsys, "solution", "192")[0] == 1
    assert run(capsys, "list")[0] == 0


def test_doctor_says_what_isolates(workspace, capsys):
    code, out, _ = run(capsys, "doctor")
    assert code in (0, 1) and out.strip()
    facts = json.loads(run(capsys, "doctor", "--json")[1])
    assert all({"key", "ok", "text"} <= set(fact) for fact in facts)


def command(*argv, cwd=None, **environ):
    """Run the file as typed, with a Python that is not the environment's, from any folder."""
    return subprocess.run(
        [sys.base_prefix + "/bin/python3", str(ROOT / "practice" / "judge.py"), *argv],
        cwd=cwd,
        env={**os.environ, "LC_ALL": "en_US.UTF-8", **environ},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_reference_is_accepted_and_the_answer_is_one_object(tmp_path):
    exercise = find("192")
    (tmp_path / "mine.py").write_text(solution_text(exercise))
    done = command("192", "mine.py", "--json", cwd=tmp_path, MINISGL_WORKSPACE=str(tmp_path))
    result = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert (result["exercise"], result["slug"], result["verdict"], result["score"]) == (
        192,
        "cache_req",
        "AC",
        1,
    )
    assert set(result["message"]) == {"zh", "en"}
    engine = result["engine"]
    assert (
        engine["tokens_equal"] and engine["pages_balanced"] and engine["text"] and engine["speed_ratio"] > 0
    )
    assert command("solution", "192", MINISGL_WORKSPACE=str(tmp_path)).returncode == 0


def test_a_wrong_solution_is_told_why(tmp_path):
    wrong = solution_text(find("176")).replace("block_table[logical]", "sorted(block_table)[logical]")
    (tmp_path / "176_page_address.py").write_text(wrong)
    done = command("176", MINISGL_WORKSPACE=str(tmp_path))
    assert done.returncode == 1
    assert "WA" in done.stdout
    assert "Physical blocks are in no order: look them up in the block table." in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_samples_only_shows_everything(tmp_path):
    (tmp_path / "176_page_address.py").write_text(
        "def page_address(block_table, position, block_size):\n    print('hello')\n"
    )
    done = command("176", "--samples", "--lang", "zh", MINISGL_WORKSPACE=str(tmp_path))
    assert done.returncode == 1
    assert "hello" in done.stdout and "应为" in done.stdout


@pytest.mark.parametrize("source", [b"", b"\xef\xbb\xbf", b"def page_address(:\n", b"x = 1\n", b"\xff\xfe"])
def test_what_cannot_be_judged_is_one_message(tmp_path, source):
    (tmp_path / "176_page_address.py").write_bytes(source)
    done = command("176", MINISGL_WORKSPACE=str(tmp_path))
    assert done.returncode == 1
    assert "CE" in done.stdout and "Traceback" not in done.stdout + done.stderr


def test_a_starter_is_told_as_unwritten_once(tmp_path):
    (tmp_path / "192_cache_req.py").write_text(starter(find("192"), "en"))
    done = command("192", "--samples", MINISGL_WORKSPACE=str(tmp_path))
    assert done.returncode == 1
    assert done.stdout.count("cache_req is not written yet") == 1 and done.stdout.count("the same") == 3
