"""The trace of a real server: each process records what it sends; their records are joined by time."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from minisgl.models import resolve_model
from minisgl.server import launch, processes, workers
from minisgl.server.args import ServerArgs
from minisgl.utils import trace

FOLDER = "MINISGL_TRACE_FOLDER"
PROMPTS = ("Which city is the capital of France?", "日本的首都是哪里？")
MAX_TOKENS = 5
_LEFT_OUT = {"StatsReply", "DetokenizerStats"}
_KEPT = ("message", "queued", "admitted", "batch", "forward_start", "forward_end", "sampled", "cache_req")


class FileRecorder(trace.Recorder):
    """Writes each event at once, for the processes of a server are killed in the end. Its times are the
    machine's, so that those of several processes can be compared.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(clock=time.monotonic)
        self._start = 0.0
        self._file = path.open("w", encoding="utf-8", buffering=1)

    def add(self, type: str, fields: dict[str, Any]) -> None:
        super().add(type, fields)
        for event in self.events:
            self._file.write(json.dumps(event) + "\n")
        self.events.clear()


def scheduler_main(*args: Any) -> None:
    _recorded("scheduler", workers.scheduler_main, *args)


def tokenizer_main(*args: Any) -> None:
    _recorded(str(args[-1]), workers.tokenizer_main, *args)


def detokenizer_main(*args: Any) -> None:
    _recorded("detokenizer", workers.detokenizer_main, *args)


def _recorded(name: str, main: Any, *args: Any) -> None:
    with trace.recording(FileRecorder(Path(os.environ[FOLDER]) / name)):
        main(*args)


@contextmanager
def _recording_processes() -> Iterator[None]:
    """Processes that are started in this block record."""
    mains = ("scheduler_main", "tokenizer_main", "detokenizer_main")
    before = {name: getattr(processes, name) for name in mains}
    try:
        for name in mains:
            setattr(processes, name, globals()[name])
        yield
    finally:
        for name, main in before.items():
            setattr(processes, name, main)


def record() -> list[trace.Event]:
    """Two streamed requests, the second one while the first one runs."""
    with tempfile.TemporaryDirectory() as folder, _recording_processes():
        os.environ[FOLDER] = folder
        try:
            with trace.recording(FileRecorder(Path(folder) / "frontend")):
                _serve()
        finally:
            del os.environ[FOLDER]
        return _joined(Path(folder))


def _serve() -> None:
    model = resolve_model("minisgl-tiny")
    args = ServerArgs(
        model=model, port=0, served_model_name="minisgl-tiny", num_page_override=64, page_size=4
    )
    sock = launch._bind(args)
    started = processes.Processes(args)
    try:
        server = launch.Server(args, started, started.wait_ready())
        asyncio.run(_ask(server, sock))
    finally:
        started.stop()
        sock.close()


async def _ask(server: launch.Server, sock: Any) -> None:
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    serving = asyncio.create_task(server.run(sock, "recording"))
    first_text = asyncio.Event()

    async def request(client: httpx.AsyncClient, text: str) -> None:
        body = {"model": "minisgl-tiny", "messages": [{"role": "user", "content": text}], "stream": True}
        body |= {"max_tokens": MAX_TOKENS, "temperature": 0}
        async with client.stream("POST", f"{url}/v1/chat/completions", json=body) as response:
            async for line in response.aiter_lines():
                if '"content"' in line:
                    first_text.set()

    async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
        first = asyncio.create_task(request(client, PROMPTS[0]))
        await first_text.wait()
        await asyncio.gather(first, request(client, PROMPTS[1]))
    server._stop()
    await serving


def _joined(folder: Path) -> list[trace.Event]:
    """The events of all processes in the order of their times, which are left out then."""
    events: list[trace.Event] = []
    for file in sorted(folder.iterdir()):
        for line in file.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["type"] not in _KEPT or event.get("kind") in _LEFT_OUT:
                continue
            if event["type"] == "message":
                event["source"] = file.name
            events.append(event)
    events.sort(key=lambda event: event["t"])
    return [event | {"seq": i, "t": 0.0} for i, event in enumerate(events)]
