"""However a rank ends, all end: soon, with the error that came first, and without leaving anything behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rank_initializers

from minisgl.core import SamplingParams
from minisgl.distributed.launch import RankError
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

CONFIG = tiny_config()
MODEL = (CONFIG, tiny_state_dict(CONFIG, 0))
PARAMS = SamplingParams(max_tokens=8, ignore_eos=True)
KILLED = "rank 1 of 2 was killed by SIGKILL"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, empty."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def make(**settings) -> LLM:
    return LLM(MODEL, num_page_override=64, tp_size=2, **settings)


def pids(llm: LLM) -> list[int]:
    return llm._ranks.pids


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for_end(pid: int) -> bool:
    """Whether a process of another parent ends within seconds."""
    for _ in range(100):
        if not is_running(pid):
            return True
        time.sleep(0.1)
    return False


def test_killed_in_the_middle_of_a_run(temporary: Path) -> None:
    llm = make(rank_initializer=rank_initializers.die_in_step_4)
    children = pids(llm)
    with pytest.raises(RankError, match=KILLED):
        llm.generate([prompt(i, 5) for i in range(3)], PARAMS)
    with pytest.raises(RuntimeError, match="was shut down"):
        llm.generate([prompt(0, 5)], PARAMS)
    assert not any(map(is_running, children)) and not list(temporary.iterdir())
    llm.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("initializer", "message"),
    [
        ("fail", "rank 1 of 2 failed: OSError: no such disk"),
        ("die", KILLED),
        ("fail_while_loading", "rank 1 of 2 failed: ValueError: this rank's share is damaged"),
        ("die_while_loading", KILLED),
    ],
)
def test_at_the_start(initializer: str, message: str, temporary: Path) -> None:
    with pytest.raises(RankError, match=message):
        make(rank_initializer=getattr(rank_initializers, initializer))
    assert not list(temporary.iterdir())


@pytest.mark.slow
def test_the_error_of_a_rank_comes_with_its_traceback() -> None:
    llm = LLM(MODEL, num_page_override=64, tp_size=4, rank_initializer=rank_initializers.fail_in_step_4)
    with pytest.raises(RankError, match=r"rank \d of 4 failed: ZeroDivisionError: in step 4") as caught:
        llm.generate([prompt(0, 5)], PARAMS)
    assert "rank_initializers.py" in str(caught.value.__cause__)


@pytest.mark.slow
def test_between_runs_and_an_error_of_rank_0() -> None:
    llm = make()
    llm.generate([prompt(0, 5)], PARAMS)
    os.kill(pids(llm)[0], signal.SIGKILL)
    with pytest.raises(RankError, match=KILLED):
        llm.generate([prompt(0, 5)], PARAMS)

    llm = make()  # the same process may start ranks again
    with pytest.raises(RuntimeError, match="has a model of several ranks already"):
        make()
    children = pids(llm)

    def broken(last_data: object) -> None:
        raise KeyboardInterrupt

    llm._process_last_data = broken  # type: ignore[method-assign] # in a step: the others have gone on
    with pytest.raises(KeyboardInterrupt):
        llm.generate([prompt(0, 5)], PARAMS)
    assert not any(map(is_running, children)) and llm.is_shut_down


PROGRAM = """
import signal
from minisgl.llm import LLM
from minisgl.models.tiny import tiny_config, tiny_state_dict
config = tiny_config()
llm = LLM((config, tiny_state_dict(config, 0)), num_page_override=64, tp_size=2)
print(*llm._ranks.pids, llm._ranks._folder, flush=True)
def wait(index, token):
    print("token", flush=True)
    signal.pause()
llm.generate([[1, 2, 3]], on_token=wait)
"""


def start_program() -> tuple[subprocess.Popen[str], list[int], Path]:
    """A program without `if __name__ == "__main__"` whose ranks are in the middle of a run."""
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    *ranks, folder = child.stdout.readline().split()
    assert child.stdout.readline() == "token\n"
    return child, list(map(int, ranks)), Path(folder)


@pytest.mark.slow
def test_two_programs_at_once_and_the_death_of_rank_0() -> None:
    programs = [start_program() for _ in range(2)]
    (killed, killed_ranks, killed_folder), (interrupted, interrupted_ranks, folder) = programs
    assert len(killed_ranks) == len(interrupted_ranks) == 1
    killed.kill()
    killed.communicate()
    assert wait_for_end(killed_ranks[0]) and not killed_folder.exists()

    assert is_running(interrupted_ranks[0]), "the other program goes on"
    os.killpg(interrupted.pid, signal.SIGINT)  # what Ctrl-C in a terminal sends
    _, errors = interrupted.communicate(timeout=60)
    assert interrupted.returncode == -signal.SIGINT and errors.strip().endswith("KeyboardInterrupt")
    assert errors.count("Traceback") == 1 and "[rank0]" not in errors
    assert wait_for_end(interrupted_ranks[0]) and not folder.exists()
