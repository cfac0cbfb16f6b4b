"""Engine jobs in which a client goes away."""

from __future__ import annotations

import pytest

from judge.engine_plan import tiny_job
from judge.engine_result import ProgramResult, parse_result
from judge.exercises import find
from judge.jobs import P
from judge.swap.program import run
from judge.types import EngineJob

OVERLAP = {"overlap": True}


def result(aborts: list[int], **more: object) -> ProgramResult:
    calls = [[P(0, 9), P(1, 9)]] * len(aborts)
    job = EngineJob("aborts", calls, cache_type="naive", max_tokens=4, aborts=aborts, **more)  # type: ignore[arg-type]
    answer = parse_result(run(tiny_job(find("207"), job, tiny_seed=3), {}, lambda event: None))
    assert isinstance(answer, ProgramResult)
    return answer


@pytest.mark.parametrize("scheduler", [{}, OVERLAP])
def test_an_abort_cuts_one_request_short_and_leaves_nothing(scheduler: dict[str, object]) -> None:
    late, *early = result([99, 0, 1, 2, 3], scheduler=scheduler).tokens
    whole = late[0]
    assert len(whole) == 4
    for number, (first, second) in enumerate(early):
        assert second == late[1]
        assert first == whole[: len(first)] and len(first) <= number
    assert result([0, 1, 2, 3], scheduler=scheduler).balanced(1)


def test_a_job_without_aborts_says_nothing_of_them() -> None:
    assert "aborts" not in tiny_job(find("207"), EngineJob("none", [[P(0, 5)]]), tiny_seed=3)
