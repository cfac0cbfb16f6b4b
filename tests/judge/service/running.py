"""A service on a real socket: uvicorn in a thread, workers in this process, a scripted judge."""

from __future__ import annotations

import dataclasses
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from course import ScriptedJudge, wait_for

from judge.exercises import load_exercises
from judge.service.app import create_app
from judge.service.db import migrate, open_engine
from judge.service.settings import Settings
from judge.service.store import Store
from judge.service.worker import Worker, open_store


@dataclass
class Running:
    """A running service and a client that speaks to it."""

    settings: Settings
    store: Store
    client: httpx.Client
    folder: Path
    course: Path
    server: uvicorn.Server
    thread: threading.Thread
    workers: list[Worker] = dataclasses.field(default_factory=list)

    @property
    def url(self) -> str:
        return str(self.client.base_url).rstrip("/")

    def start_worker(self, **changes: Any) -> Worker:
        settings = dataclasses.replace(self.settings, **changes)
        exercises = load_exercises(self.course)
        worker = Worker(
            settings, open_store(settings), ScriptedJudge(self.folder), exercises, isolation="namespaces"
        )
        worker.start()
        self.workers.append(worker)
        return worker

    def submit(self, code: str, **fields: Any) -> httpx.Response:
        return self.client.post("/api/v1/submissions", json={"exercise": 176, "code": code, **fields})

    def result(self, submission: int) -> dict[str, Any]:
        """The submission once it is judged."""
        for event in self.events(submission):
            if event["event"] == "verdict":
                break
        return dict(self.client.get(f"/api/v1/submissions/{submission}").json())

    def events(self, submission: int, last: int | None = None) -> Iterator[dict[str, Any]]:
        """Its progress, from the stream."""
        headers = {} if last is None else {"last-event-id": str(last)}
        url = f"/api/v1/submissions/{submission}/events"
        with self.client.stream("GET", url, headers=headers, timeout=60) as stream:
            assert stream.status_code == 200
            event: dict[str, Any] = {}
            for line in stream.iter_lines():
                name, _, value = line.partition(": ")
                if line == "" and "event" in event:
                    yield event
                    event = {}
                elif name == "data":
                    event["data"] = json.loads(value)
                elif name in ("id", "event"):
                    event[name] = value

    def stop(self) -> None:
        for worker in self.workers:
            worker.stop()
        self.client.close()
        self.server.should_exit = True
        self.thread.join(20)
        assert not self.thread.is_alive()


def quick(folder: Path) -> Settings:
    """Settings with short times, all data below `folder`."""
    return Settings(
        var=folder / "var",
        site=folder / "site",
        threads=2,
        heartbeat_s=0.2,
        reap_s=0.05,
        lease_s=30,
        stream_poll_s=0.02,
    )


def start(settings: Settings, course: Path, folder: Path) -> Running:
    """Serve the exercises of `course`; the scripted judge writes its files into `folder`."""
    migrate(open_engine(settings.database))
    store = open_store(settings)
    app = create_app(settings, store, load_exercises(course))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    wait_for(lambda: server.started, "the server")
    client = httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=30)
    return Running(settings, store, client, folder, course, server, thread)
