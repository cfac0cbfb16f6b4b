"""A server starts with one line, and ends with all of its processes, whatever ends it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from minisgl.server.args import ServerArgs
from minisgl.server.processes import Processes

NAMES = {"scheduler", "detokenizer", "tokenizer0", "tokenizer1"}
LONG = {"prompt": "Once upon a time", "max_tokens": 1500, "ignore_eos": True}


def run(*flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "minisgl", *flags], capture_output=True, text=True, timeout=150, check=False
    )


def test_what_cannot_start_says_why_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("--port", str(port))
        assert result.returncode == 1 and result.stdout == ""
        assert result.stderr == f"minisgl: cannot listen at 127.0.0.1 port {port}: Address already in use\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--model", "nowhere"], "no model 'nowhere'"),
        (["--num-pages", "1"], "the scheduler process has failed: the KV pool would have 1 pages"),
        (["--attention-backend", "fa"], "the scheduler process has failed: "),
        (["--attention-backend", "fi"], "the scheduler process has failed: "),
    ],
)
def test_what_fails_while_it_starts_ends_everything(flags: list[str], words: str) -> None:
    result = run("--port", "0", *flags)
    assert result.returncode == 1 and result.stdout == "" and "Traceback" not in result.stderr
    assert result.stderr.startswith("minisgl: " + words) and result.stderr.count("\n") == 1


@pytest.mark.parametrize("thread", [False, True], ids=["alone", "beside a thread that takes signals"])
def test_when_not_all_processes_can_start_none_is_left(monkeypatch: pytest.MonkeyPatch, thread: bool) -> None:
    class Process:
        def __init__(self) -> None:
            self.killed = self.joined = False

        def kill(self) -> None:
            self.killed = True

        def join(self) -> None:
            self.joined = True

    started: list[Process] = []
    folders: list[Path] = []

    def start(self: Processes, name: str, *args: object) -> None:
        folders.append(self.addresses.folder)
        if started:  # held back until all have started, and the handler that launch_server sets raises
            os.kill(os.getpid(), signal.SIGTERM)
        process = self._processes[name] = Process()  # type: ignore[assignment]
        started.append(process)

    monkeypatch.setattr(Processes, "_start", start)
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    if thread:
        other.start()
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with pytest.raises(SystemExit):
            Processes(ServerArgs())
    finally:
        over.set()
        signal.signal(signal.SIGTERM, before)
    assert len(started) == 3 and all(process.killed and process.joined for process in started)
    assert not folders[0].exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NAMES))
def test_when_a_process_dies_all_end_and_the_reason_is_told(
    start_server: Callable[..., Any], name: str
) -> None:
    server = start_server("--num-tokenizers", "2").wait_ready()
    children = server.children()
    assert set(children) >= NAMES
    with httpx.stream(
        "POST", server.url + "/v1/completions", json={**LONG, "stream": True}, timeout=60
    ) as answer:
        lines = answer.iter_lines()
        next(lines)
        os.kill(children[name], signal.SIGKILL)
        rest = "\n".join(lines)
    assert '"error":{"message":"the server has failed' in rest and "[DONE]" not in rest
    assert server.wait_ended() == 1
    assert server.errors() == (
        f"minisgl: the {name} process has failed: it was killed by SIGKILL, as when memory runs out\n"
    )


@pytest.mark.slow
def test_when_the_server_is_killed_its_processes_end(start_server: Callable[..., Any]) -> None:
    server = start_server().wait_ready()
    server.process.kill()
    server.wait_ended()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_running_requests_end(start_server: Callable[..., Any], number: signal.Signals) -> None:
    server = start_server("--shutdown-grace", "60").wait_ready()
    body = {**LONG, "max_tokens": 200, "stream": True}
    with httpx.stream("POST", server.url + "/v1/completions", json=body, timeout=60) as answer:
        lines = answer.iter_lines()
        next(lines)
        os.killpg(server.process.pid, number)  # as Ctrl-C in a terminal: all processes get it
        assert "data: [DONE]" in list(lines)
    assert server.wait_ended() == 0 and server.errors() == ""


@pytest.mark.slow
def test_what_outlasts_the_grace_is_told_so(start_server: Callable[..., Any]) -> None:
    server = start_server("--shutdown-grace", "0.2").wait_ready()
    with httpx.stream(
        "POST", server.url + "/v1/completions", json={**LONG, "stream": True}, timeout=60
    ) as answer:
        lines = answer.iter_lines()
        next(lines)
        server.process.send_signal(signal.SIGTERM)
        rest = "\n".join(lines)
    assert '"error":{"message":"the server is shutting down"' in rest
    assert server.wait_ended() == 0


@pytest.mark.slow
def test_two_servers_at_once_do_not_meet(start_server: Callable[..., Any]) -> None:
    started = [start_server(), start_server("--served-model-name", "other")]
    servers = [server.wait_ready() for server in started]
    assert [s.get("/v1/models")["data"][0]["id"] for s in servers] == ["minisgl-tiny", "other"]
    for server in servers:
        body = {"prompt": "The capital of France is", "temperature": 0, "max_tokens": 2}
        answer = httpx.post(server.url + "/v1/completions", json=body, timeout=60).json()
        assert answer["choices"][0]["text"] == " Paris."
    servers[0].stop()
    assert servers[1].get("/health")["status"] == "ok"
