"""Clients that go away, or read slowly, take nothing with them and hold nobody up."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest

TEXT = {"prompt": "Once upon a time", "temperature": 0, "ignore_eos": True}


@pytest.fixture(scope="module")
def server(start_server: Callable[..., Any]) -> Any:
    """A step is in flight whenever a client goes, prompts are in decode steps, pages have several tokens."""
    return start_server("--overlap", "on", "--mixed", "--page-size", "4", "--num-pages", "1024").wait_ready()


def connect(server: Any, path: str, body: dict[str, Any], receive_buffer: int | None = None) -> socket.socket:
    """Send a request by hand. The answer has not been read."""
    host, port = server.url.removeprefix("http://").split(":")
    sock = socket.socket()
    sock.settimeout(60)
    if receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.connect((host, int(port)))
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\nconnection: close\r\n\r\n"
    sock.sendall(head.encode() + data)
    return sock


def wait_for(server: Any, what: str, count: int) -> None:
    """Wait until the engine has so many requests that are running or waiting."""
    server.wait_until(lambda: server.get("/health")["engine"][what] == count)


def test_64_streams_with_random_disconnects_leave_nothing_behind(server: Any) -> None:
    """Defect 3, too: a request that has ended leaves no state in the detokenizer."""
    chance = random.Random(0)
    plans = [
        {
            "chat": chance.random() < 0.5,
            "stream": chance.random() < 0.8,
            "events": chance.choice([0, 0, 1, 2, 5, 20, None]),  # None: to the end
            "body": {
                "max_tokens": chance.randint(1, 60),
                "n": chance.choice([1, 1, 1, 3]),
                "temperature": chance.choice([0, 1]),
                "stop": chance.choice([[], ["e"], ["the", ". "]]),
                "ignore_eos": chance.random() < 0.5,
                "seed": chance.randint(0, 99),
            },
            "words": chance.randint(1, 100),
        }
        for _ in range(64)
    ]

    async def play(client: httpx.AsyncClient, plan: dict[str, Any]) -> None:
        prompt = " ".join(["word"] * plan["words"])
        asked = {"messages": [{"role": "user", "content": prompt}]} if plan["chat"] else {"prompt": prompt}
        path = "/v1/chat/completions" if plan["chat"] else "/v1/completions"
        body = {**asked, **plan["body"], "stream": plan["stream"]}
        if not plan["stream"]:
            try:
                timeout = 60 if plan["events"] is None else 0.01 * plan["events"] + 0.001
                answer = await client.post(path, json=body, timeout=timeout)
                assert answer.status_code == 200 and answer.json()["choices"]
            except httpx.TimeoutException:
                pass
            return
        async with client.stream("POST", path, json=body, timeout=60) as answer:
            assert answer.status_code == 200
            seen = 0
            async for line in answer.aiter_lines():
                seen += line.startswith("data:")
                if plan["events"] is not None and seen >= plan["events"]:
                    return  # closes the connection
            assert line == "" and seen > 1

    async def play_all() -> None:
        limits = httpx.Limits(max_connections=64)
        async with httpx.AsyncClient(base_url=server.url, limits=limits) as client:
            await asyncio.gather(*(play(client, plan) for plan in plans))

    asyncio.run(play_all())
    stats = server.wait_idle()
    assert stats["total_pages"] == 1024
    assert server.metric("minisgl_detokenizer_requests") == 0
    answer = httpx.post(server.url + "/v1/completions", json={**TEXT, "max_tokens": 4}, timeout=60)
    assert answer.json()["usage"]["completion_tokens"] == 4


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_stops_the_engine(server: Any, stream: bool) -> None:
    before = server.metric("minisgl_generated_tokens_total")
    sock = connect(server, "/v1/completions", {**TEXT, "max_tokens": 2000, "stream": stream})
    if stream:
        assert sock.recv(100).startswith(b"HTTP/1.1 200")
    else:
        wait_for(server, "running", 1)
    sock.close()
    server.wait_idle()
    assert server.metric("minisgl_generated_tokens_total") - before < 1900


def test_one_that_goes_away_while_it_waits_is_never_computed(server: Any) -> None:
    whole = [connect(server, "/v1/completions", {**TEXT, "max_tokens": 1500}) for _ in range(2)]
    waiting = connect(
        server, "/v1/completions", {"prompt": [9] * 2000, "max_tokens": 40}
    )  # no room beside them
    wait_for(server, "waiting", 1)
    computed = server.metric("minisgl_prefill_tokens_total")
    waiting.close()
    wait_for(server, "waiting", 0)
    for sock in whole:
        sock.close()
    server.wait_idle()
    assert server.metric("minisgl_prefill_tokens_total") == computed


def test_slow_readers_hold_nobody_up(server: Any) -> None:
    chat = {"messages": [{"role": "user", "content": "Hi"}], "ignore_eos": True, "stream": True}
    long = {**chat, "max_tokens": 100, "n": 4, "logprobs": True, "top_logprobs": 20}
    never = [connect(server, "/v1/chat/completions", long, receive_buffer=4096) for _ in range(2)]
    slow = connect(server, "/v1/completions", {**TEXT, "max_tokens": 4, "stream": True}, receive_buffer=4096)
    read = b""
    for _ in range(5):
        read += slow.recv(1)
        answer = httpx.post(server.url + "/v1/completions", json={**TEXT, "max_tokens": 2}, timeout=60)
        assert answer.status_code == 200
    while part := slow.recv(4096):
        read += part
    assert read.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    # The engine does not wait for those who do not read: their pages come back all the same.
    wait_for(server, "running", 0)
    assert server.get("/health")["requests"] == 4 * len(never)
    for sock in never:
        sock.close()
    server.wait_idle()
