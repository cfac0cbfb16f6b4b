"""The submitted function in the engine: tokens, pages and schedule as with the reference, or it is told."""

from __future__ import annotations

import json
import re

import pytest
import toy

from judge.engine_plan import LEAST_MARGIN, Planned, Reference, questions
from judge.engine_result import Malformed, ProgramResult, parse_result, parse_token, parse_trace
from judge.engine_tier import Tier
from judge.exercises import find
from judge.run import judge_submission
from judge.sandbox import Pool
from judge.solution import solution_text
from judge.types import Event, RunResult, Verdict


def judged(number: str, code: str, pool: Pool, **options) -> RunResult:
    return judge_submission(find(number), code.encode(), pool=pool, seed=b"seed", **options)


def two_faced(number: str, otherwise: str) -> str:
    """The reference, except in the engine: there its result goes through ``otherwise``."""
    exercise = find(number)
    code = solution_text(exercise)
    return code + (
        f"\n\n_right = {exercise.name}\n\n"
        "def _in_engine():\n"
        "    import sys\n"
        "    frame = sys._getframe(1)\n"
        "    while frame is not None:\n"
        "        if frame.f_code.co_name == 'generate':\n"
        "            return True\n"
        "        frame = frame.f_back\n"
        "    return False\n\n" + otherwise
    )


def test_accepted_with_text_from_the_learners_engine(pool):
    events: list[Event] = []
    exercise = find("192")
    result = judged("192", solution_text(exercise), pool, on_event=events.append)
    engine = result.engine
    assert (result.verdict, result.score) == (Verdict.AC, 1.0) and engine is not None
    assert result.message["zh"].startswith("通过。单元测试 ") and "token 与参考一致" in result.message["zh"]
    assert engine.tokens_equal and engine.schedule_equal and engine.pages_balanced
    assert engine.tokens == engine.tokens_matching > 100
    assert engine.pages_free + engine.pages_cached == engine.pages_total
    types = [event.type for event in events]
    assert types.index("engine") > max(i for i, kind in enumerate(types) if kind == "group")
    assert types[-1] == "verdict"
    assert [shown.prompt for shown in engine.texts] == [asked for _, asked in questions(exercise)]
    assert all(shown.text for shown in engine.texts) and engine.texts[1].text in engine.text
    assert engine.texts[0].cached == 0 and engine.texts[2].cached >= 8, "the system prompt is found again"
    streamed: dict[int, str] = {}
    for event in events:
        if event.type == "token":
            request = event.data["request"]
            streamed[request] = streamed.get(request, "") + event.data["text"]
    assert [streamed[request] for request in range(4)] == [shown.text for shown in engine.texts]
    assert engine.model == "minisgl-tiny" and (engine.speed_ratio is None or engine.speed_ratio > 0)
    assert {"queued", "insert", "cache_req", "sampled"} <= {event["type"] for event in result.trace}
    json.dumps(result.to_json(trace=True))


def test_an_exercise_may_bring_its_own_questions(make_toy):
    own = toy.TOML + '\n[engine_text]\nzh = ["什么是页？"]\nen = []\n'
    assert questions(make_toy(toml=own)) == [("zh", "什么是页？")]


def test_no_engine_when_it_is_not_wanted_or_the_unit_part_fails(pool):
    exercise = find("176")
    result = judged("176", solution_text(exercise), pool, engine=False)
    assert (result.verdict, result.score, result.engine) == (Verdict.AC, 0.8, None)
    assert result.to_json()["engine"] is None
    wrong = exercise.hidden.mutants[0].code
    result = judged("176", wrong, pool)
    assert result.engine is None and result.score < 0.8


def test_other_tokens_in_the_engine(pool):
    code = two_faced(
        "176",
        "def page_address(block_table, position, block_size):\n"
        "    answer = _right(block_table, position, block_size)\n"
        "    return {**answer, 'physical_block': 0} if _in_engine() else answer\n",
    )
    result = judged("176", code, pool)
    assert (result.verdict, result.score) == (Verdict.WA, 0.8)
    assert result.engine is not None and not result.engine.tokens_equal
    assert result.message["en"].startswith("Unit tests accepted. In the engine, r")
    assert result.engine.tokens_matching < result.engine.tokens


def test_a_leak_in_the_engine(pool):
    code = two_faced(
        "192",
        "def cache_req(self, req, *, finished):\n"
        "    if _in_engine() and finished:\n"
        "        req.cached_len = 0\n"
        "    return _right(self, req, finished=finished)\n",
    )
    result = judged("192", code, pool)
    assert result.verdict is Verdict.WA and result.engine is not None
    assert not result.engine.pages_balanced
    assert "pages are free" in result.message["en"]


def test_a_lock_left_in_the_engine(pool):
    code = two_faced(
        "192",
        "def cache_req(self, req, *, finished):\n"
        "    if _in_engine():\n"
        "        self.lock(req.cache_handle)\n"
        "    return _right(self, req, finished=finished)\n",
    )
    result = judged("192", code, pool)
    assert result.verdict is Verdict.WA and result.engine is not None
    assert not result.engine.pages_balanced
    assert re.search(r"0 rows of the page table .* [1-9]\d* cached tokens still locked", result.message["en"])


def test_another_schedule_in_the_engine(pool):
    code = two_faced(
        "188",
        "def continuous_step(requests, free_blocks, token_budget, block_size):\n"
        "    answer = _right(requests, free_blocks, token_budget, block_size)\n"
        "    if _in_engine():\n"
        "        for request in answer['requests'][1:]:\n"
        "            request['scheduled'] = 0\n"
        "    return answer\n",
    )
    result = judged("188", code, pool)
    assert result.verdict is Verdict.WA and result.engine is not None
    assert result.engine.tokens_equal and not result.engine.schedule_equal
    assert "from step 1 on the engine’s schedule differs" in result.message["en"]


def test_an_answer_that_the_engine_cannot_use(pool):
    code = two_faced(
        "188",
        "def continuous_step(requests, free_blocks, token_budget, block_size):\n"
        "    answer = _right(requests, free_blocks, token_budget, block_size)\n"
        "    return {'requests': []} if _in_engine() else answer\n",
    )
    result = judged("188", code, pool)
    assert result.verdict is Verdict.WA
    assert result.message["zh"] == (
        "单元测试通过，引擎停下了：`continuous_step` 的返回值里缺少引擎要用的请求。"
    )


@pytest.mark.parametrize(
    ("action", "verdict", "words"),
    [
        ("raise KeyError('row')", Verdict.RE, "Runtime error in the engine: KeyError in line"),
        ("import os; os._exit(0)", Verdict.RE, "the process exits before its end"),
        ("print('x' * (1 << 20), flush=True)", Verdict.OLE, "Output limit in the engine"),
    ],
)
def test_stopped_in_the_engine(pool, action, verdict, words):
    code = two_faced(
        "176",
        "def page_address(block_table, position, block_size):\n"
        f"    if _in_engine():\n        {action}\n"
        "    return _right(block_table, position, block_size)\n",
    )
    result = judged("176", code, pool)
    assert (result.verdict, result.score) == (verdict, 0.8)
    assert words in result.message["en"] and result.message["zh"].startswith("单元测试通过，")


def test_undecided_seeds_are_drawn_again(pool, monkeypatch):
    def planned() -> list[Planned]:
        with Reference(find("176"), Tier(pool), b"seed") as reference:
            return list(reference)

    def margin(one: Planned) -> float:
        return one.answer.result().result.margin

    first = planned()
    assert all(margin(one) >= LEAST_MARGIN for one in first if not one.prompts)
    monkeypatch.setattr("judge.engine_plan.LEAST_MARGIN", margin(first[0]) * 1.0001)
    again = planned()
    assert again[0].job["model"]["tiny_seed"] != first[0].job["model"]["tiny_seed"]
    assert margin(again[0]) > margin(first[0])


def test_the_engine_part_needs_no_second_box():
    """Two boxes run side by side; with one slot the reference goes first, with the same result."""
    exercise = find("176")
    for slots in (1, 2):
        with Pool(slots=slots) as pool:
            result = judged("176", solution_text(exercise), pool)
            assert (result.verdict, result.score) == (Verdict.AC, 1.0)
            assert pool._slots == slots


def test_a_submission_that_fails_does_not_wait_for_the_reference():
    code = two_faced(
        "176",
        "def page_address(*args):\n    if _in_engine():\n        raise KeyError\n    return _right(*args)\n",
    )
    with Pool(slots=2) as pool:
        assert judged("176", code, pool).verdict is Verdict.RE
        assert pool._slots == 2


# --- Answers of a box that lies ----------------------------------------------------------------

ANSWER = {
    "tokens": [[[1, 2]]],
    "margin": 1.0,
    "schedule": [["prefill", [0], [5]]],
    "admitted": [[0, 0]],
    "evicted": [],
    "integrity": "",
    "pages": {"total": 2, "free": [0], "cached": [1]},
    "left": [0, 0],
    "setup": {
        "device": "cpu",
        "dtype": "float32",
        "prefill": "Torch",
        "decode": "Torch",
        "graphs": [],
        "overlap": False,
    },
}


def test_a_sound_answer():
    answer = parse_result(ANSWER)
    assert isinstance(answer, ProgramResult) and answer.balanced(1) and not answer.balanced(2)


@pytest.mark.parametrize(
    "pages",
    [
        {"total": 2, "free": [0, 1], "cached": [1]},
        {"total": 2, "free": [0], "cached": []},
        {"total": 2, "free": [0, 0], "cached": []},
        {"total": 2, "free": [0, 2], "cached": []},
        {"total": 1 << 62, "free": [0, 1], "cached": []},
        {"total": -1, "free": [], "cached": []},
    ],
)
def test_balance_is_counted_outside(pages):
    assert not parse_result({**ANSWER, "pages": pages}).balanced(1)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {**ANSWER, "more": 1},
        {**ANSWER, "tokens": [[[True]]]},
        {**ANSWER, "tokens": [[["1"]]]},
        {**ANSWER, "schedule": [["prefill", [0]]]},
        {**ANSWER, "pages": {"total": 2, "free": [0.5], "cached": []}},
        {"told": {"key": "ac", "values": {}}},
        {"told": {"key": "swap_fork", "values": {}}},
        {"told": {"key": "swap_fork", "values": {"cut": "secret", "length": 1}}},
        {"told": {"key": "swap_place", "values": {"key": 1}}},
        {"told": {"key": "swap_place", "values": {"lang": 1}}},
        {"told": None},
    ],
)
def test_a_malformed_answer(answer):
    with pytest.raises(Malformed):
        parse_result(answer)


def test_malformed_events():
    assert parse_token({"trace": []}) is None and parse_trace({"tokens": [0, 0, 1]}) == []
    for value in ([0, 0], [0, 0, "x"], [0, 0, 1.5], None):
        with pytest.raises(Malformed):
            parse_token({"tokens": value})
    for value in ([1], "x", [{"a": object()}]):
        with pytest.raises(Malformed):
            parse_trace({"trace": value})
