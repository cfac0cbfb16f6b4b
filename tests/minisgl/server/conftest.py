"""A real server, started by the command."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

START_S = 150
END_S = 60


class ServerProcess:
    """A started server. `url` is set once it is ready."""

    def __init__(self, *flags: str, log: Path) -> None:
        command = [sys.executable, "-m", "minisgl", "--port", "0", "--num-pages", "4096", *flags]
        self.log = log
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                start_new_session=True,  # so that what it leaves behind can be found
            )
        self.url = ""

    def wait_ready(self) -> ServerProcess:
        """Wait for the line that says so."""
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], START_S)
        line = self.process.stdout.readline().decode() if readable else ""
        found = re.search(r"is ready at (http://\S+) after", line)
        assert found, f"no ready server, but {line!r} and {self.errors()}"
        self.url = found[1]
        return self

    def errors(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def children(self) -> dict[str, int]:
        """Process ids of the server's other processes, by the name that ps shows."""
        return {
            Path(f"/proc/{pid}/comm").read_text().strip(): pid
            for pid in members(self.process.pid)
            if pid != self.process.pid
        }

    def wait_ended(self) -> int:
        """Wait until every process is gone. Returns the exit code."""
        code = self.process.wait(END_S)
        wait_until(lambda: not members(self.process.pid), END_S)
        return code

    def stop(self) -> None:
        """End whatever is left."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(END_S)
        for pid in members(self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self.process.wait(END_S)

    def get(self, path: str) -> Any:
        return httpx.get(self.url + path, timeout=30).json()

    def metric(self, name: str) -> float:
        """The value of a metric without labels."""
        text = httpx.get(self.url + "/metrics", timeout=30).text
        found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
        assert found, f"no {name} in {text}"
        return float(found[1])

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Look again and again until it is so."""
        wait_until(condition, END_S)

    def wait_idle(self) -> dict[str, Any]:
        """Wait until no request is left anywhere. Returns how the engine stands then: nothing may be lost."""

        def idle() -> bool:
            health = self.get("/health")
            return not (health["requests"] or health["engine"]["running"] or health["engine"]["waiting"])

        self.wait_until(idle)
        stats: dict[str, Any] = self.get("/health")["engine"]
        assert stats["free_pages"] + stats["cached_pages"] == stats["total_pages"], stats
        return stats


def members(session: int) -> list[int]:
    """The processes of a session that are still there."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (OSError, ValueError):
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    """Look again and again until it is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not become so in time"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., ServerProcess]]:
    """Start a server with more flags; it is ended after the module's tests."""
    started: list[ServerProcess] = []

    def start(*flags: str) -> ServerProcess:
        server = ServerProcess(*flags, log=tmp_path_factory.mktemp("server") / "log")
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="module")
def server(start_server: Callable[..., ServerProcess]) -> ServerProcess:
    """One server for the tests of a module."""
    return start_server().wait_ready()
