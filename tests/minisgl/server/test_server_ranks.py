"""A server whose model is shared by two processes: the same answers, and one end for all."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from minisgl.core import SamplingParams
from minisgl.llm import LLM

PROMPTS = ["The capital of France is", "Once upon a time", "The sky", "One, two, three,"]
LONG = {"prompt": PROMPTS[1], "max_tokens": 1500, "ignore_eos": True, "stream": True}


@pytest.mark.slow
def test_two_ranks_answer_as_one_and_end_together(start_server: Callable[..., Any]) -> None:
    server = start_server("--tp", "2").wait_ready()
    assert set(server.children()) >= {"scheduler", "rank1", "detokenizer", "tokenizer0"}

    def ask(text: str) -> str:
        body = {"prompt": text, "temperature": 0, "max_tokens": 12}
        answer = httpx.post(server.url + "/v1/completions", json=body, timeout=60).json()
        return str(answer["choices"][0]["text"])

    with ThreadPoolExecutor(len(PROMPTS)) as pool:
        texts = list(pool.map(ask, PROMPTS))
    expected = LLM().generate(PROMPTS, SamplingParams(max_tokens=12))
    assert texts == [result["text"] for result in expected]

    # a client goes away: its request is aborted on both ranks, and they go on in step
    with httpx.stream("POST", server.url + "/v1/completions", json=LONG, timeout=60) as answer:
        next(answer.iter_lines())
    server.wait_idle()
    assert ask(PROMPTS[0]) == texts[0]

    with httpx.stream("POST", server.url + "/v1/completions", json=LONG, timeout=60) as answer:
        lines = answer.iter_lines()
        next(lines)
        os.kill(server.children()["rank1"], signal.SIGKILL)
        rest = "\n".join(lines)
    assert '"error":{"message":"the server has failed' in rest
    assert server.wait_ended() == 1
    reason = "rank 1 of 2 was killed by SIGKILL, as when memory runs out"
    assert server.errors() == f"minisgl: the scheduler process has failed: {reason}\n"


@pytest.mark.slow
def test_an_idle_server_ends_with_its_rank(start_server: Callable[..., Any]) -> None:
    server = start_server("--tp", "2").wait_ready()
    os.kill(server.children()["rank1"], signal.SIGKILL)
    assert server.wait_ended() == 1 and "rank 1 of 2 was killed by SIGKILL" in server.errors()


@pytest.mark.slow
def test_a_killed_server_leaves_no_rank(start_server: Callable[..., Any]) -> None:
    server = start_server("--tp", "2").wait_ready()
    server.process.kill()
    server.wait_ended()


@pytest.mark.slow
def test_a_number_of_ranks_that_does_not_work(start_server: Callable[..., Any]) -> None:
    server = start_server("--tp", "4")
    assert server.wait_ended() == 1
    assert server.errors().endswith("tp_size may be 1, 2, 6\n") and "Traceback" not in server.errors()
