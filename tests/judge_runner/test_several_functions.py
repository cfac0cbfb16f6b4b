"""Several of the learner's functions in the tab's engine at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "web" / "judge_runner"))

from judge_runner import generate

from judge.exercises import find, load_exercises
from judge.solution import solution_text
from judge.source import interface


def one(name: str, code: str | None = None) -> dict[str, Any]:
    exercise = find(name)
    spec = {
        "id": exercise.id,
        "slug": exercise.slug,
        "target": exercise.target,
        "place": exercise.place,
        "members": list(exercise.members),
        "interface": interface(exercise),
    }
    return {"exercise": spec, "code": solution_text(exercise) if code is None else code}


def run(functions: list[dict[str, Any]]) -> dict[str, Any]:
    args = {"functions": functions, "prompts": ["什么是页？", "什么是块？"], "maxTokens": 4, "trace": False}
    report = generate.run(args, lambda kind, value: None)
    json.dumps(report, allow_nan=False)
    return report


def test_all_that_go_together_are_used_and_the_tokens_are_those_of_the_reference() -> None:
    report = run([one("197"), one("193"), one("192"), one("196")])
    assert (report["error"], report["cannot"], report["stopped"]) == (None, None, None)
    assert report["used"] == [192, 193, 196, 197]
    assert report["tokensEqual"] is True and report["pages"]["leaked"] == 0


def test_every_reference_goes_with_all_others() -> None:
    able = [one(str(each.id)) for each in load_exercises().values() if each.browser == "all"]
    report = run(able)
    assert (report["error"], report["cannot"]) == (None, None)
    assert len(report["used"]) > 20
    assert report["tokensEqual"] is True and report["pages"]["leaked"] == 0


def test_what_has_no_place_or_goes_alone_is_left_out_and_of_one_target_the_later_counts() -> None:
    wrong = "def cache_req(self, req, *, finished):\n    raise KeyError('the earlier one')\n"
    report = run([one("160"), one("177"), one("188"), one("192", wrong), one("195")])
    assert report["error"] is None and report["used"] == [195]


def test_each_of_them_really_runs() -> None:
    broken = "def try_allocate_one(self, req):\n    raise KeyError('mine')\n"
    exercise = one("193")["exercise"]
    name = exercise["target"].rpartition(".")[2]
    report = run([one("192"), one("193", broken.replace("try_allocate_one", name))])
    assert "KeyError in line 2" in report["error"]["message"]["en"]
    assert report["error"]["message"]["en"].startswith("`PrefillAdder._try_allocate_one`: ")


def test_of_a_class_the_name_is_told_too() -> None:
    code = solution_text(find("164")).replace("self.device_len += 1", "raise KeyError('mine')")
    report = run([one("192"), one("164", code)])
    assert report["error"]["message"]["en"].startswith("`Req`: KeyError in line ")


def test_one_that_cannot_be_loaded_is_named() -> None:
    report = run([one("192"), one("193", "x = (")])
    assert report["cannot"]["message"]["en"].startswith("`PrefillAdder._try_allocate_one`: ")


def test_without_any_it_is_the_reference() -> None:
    report = run([])
    assert (report["used"], report["tokensEqual"], report["error"]) == ([], None, None)
