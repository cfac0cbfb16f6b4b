"""The engine part in fresh processes, one at a time, as on a GPU; here with the CPU in its place."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import torch

from judge import engine_plan
from judge.engine_tier import CPU, Tier, cuda_settings, device_tier
from judge.exercises import find
from judge.run import judge_submission
from judge.sandbox import Limits, Pool, make_bundle
from judge.sandbox.device import DeviceBackend, KernelStore
from judge.solution import solution_text
from judge.types import RunResult, Verdict

WRONG_IN_THE_ENGINE = """
_right = page_address

def page_address(block_table, position, block_size):
    import sys
    frame, answer = sys._getframe(1), _right(block_table, position, block_size)
    while frame is not None and frame.f_code.co_name != "generate":
        frame = frame.f_back
    return answer if frame is None else {**answer, "physical_block": 0}
"""


@pytest.fixture(scope="module")
def pool():
    with Pool() as shared:
        yield shared


@pytest.fixture
def tier(tmp_path: Path):
    made = device_tier("cpu", tmp_path / "kernels")
    yield made
    made.close()


def judged(number: str, code: str, pool: Pool, tier: Tier) -> RunResult:
    return judge_submission(find(number), code.encode(), pool=pool, tier=tier, seed=b"seed")


def test_accepted_with_overlap_and_graphs(pool: Pool, tier: Tier) -> None:
    result = judged("192", solution_text(find("192")), pool, tier)
    assert (result.verdict, result.score) == (Verdict.AC, 1.0), result.message
    engine = result.engine
    assert engine is not None and engine.setup is not None
    assert engine.tokens_equal and engine.pages_balanced and engine.texts and engine.text
    setup = engine.setup
    assert (setup.device, setup.dtype, setup.overlap) == ("cpu", "float32", True)
    assert setup.graphs and (setup.prefill, setup.decode) == ("Torch", "Torch")


def test_what_is_wrong_there_is_noticed(pool: Pool, tier: Tier) -> None:
    result = judged("176", solution_text(find("176")) + WRONG_IN_THE_ENGINE, pool, tier)
    assert (result.verdict, result.score) == (Verdict.WA, 0.8)
    assert result.message["en"].startswith("Unit tests accepted. In the engine, r")


@pytest.mark.slow
def test_time_is_limited(pool: Pool, tier: Tier) -> None:
    code = solution_text(find("176")) + WRONG_IN_THE_ENGINE.replace(
        'else {**answer, "physical_block": 0}', "else _loop()"
    )
    code += "\n\ndef _loop():\n    while True:\n        pass\n"
    tier = replace(tier, limits=Limits(cpu_s=6, wall_s=60))
    assert judged("176", code, pool, tier).verdict is Verdict.TLE


def test_tokens_that_do_not_repeat_are_drawn_again(monkeypatch, pool: Pool) -> None:
    """Where rounding may decide, the reference has to give the same tokens twice."""
    run, names = engine_plan._run, []

    def unsteady(name: str, job: dict[str, object], *rest: object) -> engine_plan.Answer:
        answer = run(name, job, *rest)
        names.append((name, job["model"]["tiny_seed"]))
        changed = msgspec.structs.replace(answer.result, tokens=[])
        return replace(answer, result=changed) if len(names) == 2 else answer

    monkeypatch.setattr(engine_plan, "_run", unsteady)
    with engine_plan.Reference(find("176"), Tier(pool, on=replace(CPU, exact=False)), b"seed") as reference:
        first = next(iter(reference))
    assert [name for name, _ in names] == ["page size 1", "again"] * 2
    assert names[0][1] == names[1][1] != names[2][1] == names[3][1] == first.job["model"]["tiny_seed"]


# --- The process -------------------------------------------------------------------------------

LOOK = """
import os, pathlib
(pathlib.Path(os.environ["TRITON_CACHE_DIR"]).parent / "planted").touch()
def double(x):
    return [x, dict(os.environ), os.getcwd(), os.getpid()]
"""
DRIVE = "def drive(target, case, io):\n    io.emit(target(1))\n"


def look(cache: Path, *, keeps: bool) -> list[object]:
    """What a process sees of its surroundings; it leaves a file in the folder of kernels."""
    with Pool(slots=1, backend=lambda: DeviceBackend("cpu", cache, keeps=keeps)) as pool:
        assert pool.isolation == "process (cpu)"
        with pool.box(make_bundle(None), Limits(cpu_s=20)) as box:
            box.load(LOOK.encode(), filename="look.py", target="double")
            (seen,) = box.case(DRIVE, {}).emitted
            box.finish()
    return seen


def test_a_process_of_its_own_with_a_clean_environment(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    seen = [look(tmp_path, keeps=False) for _ in range(2)]
    for _, environment, folder, _ in seen:
        assert "API_TOKEN" not in environment and "secret" not in environment.values()
        assert environment["HOME"] == environment["TMPDIR"] == folder and not Path(folder).exists()
        assert environment["TRITON_CACHE_DIR"].startswith(str(tmp_path))
    assert seen[0][2:] != seen[1][2:]


def test_only_the_references_kernels_are_remembered(tmp_path: Path) -> None:
    look(tmp_path, keeps=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock"]
    look(tmp_path, keeps=True)
    assert (tmp_path / "kept" / "planted").exists() and not (tmp_path / "work").exists()
    (tmp_path / "kept" / "planted").unlink()
    look(tmp_path, keeps=False)
    assert not (tmp_path / "kept" / "planted").exists()


def test_the_device_is_shared_with_nobody(tmp_path: Path) -> None:
    first = KernelStore(tmp_path)
    (first.work / "stale").touch()
    second: list[KernelStore] = []
    thread = threading.Thread(target=lambda: second.append(KernelStore(tmp_path)))
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    first.release(keep=False)
    thread.join(10)
    assert second and not list(second[0].work.iterdir())
    second[0].release(keep=False)


# --- On a GPU ----------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("number", ["176", "188", "192", "193", "196"])
def test_on_the_gpu(number: str, pool: Pool) -> None:
    exercise = find(number)
    tier = device_tier("cuda")
    try:
        result = judge_submission(exercise, solution_text(exercise).encode(), pool=pool, tier=tier)
    finally:
        tier.close()
    assert result.verdict is Verdict.AC, result.message
    assert result.engine is not None and result.engine.setup is not None
    setup = result.engine.setup
    assert setup.device == torch.cuda.get_device_name() and setup.overlap and setup.graphs
    assert setup.dtype == cuda_settings().dtype
