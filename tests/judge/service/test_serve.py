"""`serve` as a process: its worker killed, its port taken, its end."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from course import make_course, wait_for
from sqlalchemy.exc import OperationalError

from judge.service import log
from judge.service.__main__ import main as command_line
from judge.service.serve import WorkerChild, serve
from judge.service.settings import Settings
from judge.service.worker import open_store

PROGRAM = Path(__file__).with_name("scripted_service.py")
ROOT = PROGRAM.parents[3]


class Process:
    """A started service; what it printed is in `out`, its log in `err`."""

    def __init__(self, folder: Path, mode: str = "strong", port: int | None = None) -> None:
        self.folder = folder
        if not (folder / "course").exists():
            make_course(folder / "course")
        self.var = folder / "var"
        self.port = port or free_port()
        self.out, self.err = folder / f"out-{self.port}", folder / f"err-{self.port}"
        command = [sys.executable, str(PROGRAM), "serve", str(folder / "course"), str(self.var)]
        environ = os.environ | {"LC_ALL": "C.UTF-8", "PYTHONPATH": f"{ROOT}{os.pathsep}{PROGRAM.parent}"}
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                [*command, str(self.port), mode], stdout=out, stderr=err, cwd=ROOT, env=environ
            )
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30)

    def ready(self) -> Process:
        wait_for(lambda: "Ctrl-C" in self.said() or self.process.poll() is not None, "the address")
        assert self.process.poll() is None, self.said() + self.err.read_text()
        return self

    def said(self) -> str:
        return self.out.read_text()

    def submit(self, code: str) -> int:
        body = {"exercise": 176, "code": code}
        return int(self.client.post("/api/v1/submissions", json=body).json()["id"])

    def result(self, submission: int) -> dict[str, Any]:
        with self.client.stream("GET", f"/api/v1/submissions/{submission}/events") as stream:
            stream.read()
        return dict(self.client.get(f"/api/v1/submissions/{submission}").json())

    def held_by(self, number: int) -> int:
        """The process id of the worker that took the nth held run."""
        file = self.folder / f"started-{number}"
        wait_for(lambda: file.exists() and file.read_text(), f"attempt {number}")
        return int(file.read_text())

    def ends(self) -> int:
        return self.process.wait(60)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    started: list[Process] = []

    def make(*arguments: Any) -> Process:
        started.append(Process(tmp_path, *arguments))
        return started[-1]

    yield make
    for one in started:
        one.client.close()
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGINT)
            (tmp_path / "go").touch()
            assert one.ends() == 0


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_kill_9_of_the_worker_in_the_middle_of_a_run(start: Any) -> None:
    service = start().ready()
    made = service.submit("hold")
    first = service.held_by(1)
    os.kill(first, signal.SIGKILL)
    second = service.held_by(2)
    assert second != first
    (service.folder / "go").touch()
    done = service.result(made)
    assert (done["verdict"], done["attempt"]) == ("AC", 2)

    events = open_store(Settings(var=service.var)).events(made)
    kinds = [event.type for event in events]
    assert kinds.count("verdict") == 1
    assert [event.data["again"] for event in events if event.type == "queued"] == [False, True]
    assert "started again" in service.said()


def test_ctrl_c_drains_and_a_restart_goes_on(start: Any) -> None:
    service = start().ready()
    at_hand, waiting = service.submit("hold"), service.submit("pass")
    worker = service.held_by(1)
    service.process.send_signal(signal.SIGINT)
    wait_for(lambda: "Ctrl-C again" in service.said(), "the farewell")
    (service.folder / "go").touch()
    assert service.ends() == 0
    assert "Fatal Python error" not in service.err.read_text()
    assert not alive(worker)
    again = start().ready()
    assert again.result(at_hand)["attempt"] == 1
    assert again.result(waiting)["verdict"] == "AC"


@pytest.mark.slow
def test_a_second_ctrl_c_ends_at_once(start: Any) -> None:
    service = start().ready()
    made = service.submit("hold")
    worker = service.held_by(1)
    service.process.send_signal(signal.SIGINT)
    wait_for(lambda: "Ctrl-C again" in service.said(), "the farewell")
    service.process.send_signal(signal.SIGINT)
    assert service.ends() == 130
    wait_for(lambda: not alive(worker), "the worker's end")
    (service.folder / "go").touch()
    done = start().ready().result(made)
    assert (done["verdict"], done["attempt"]) == ("AC", 2), "what was at hand is judged after the next start"


def test_a_worker_does_not_outlive_its_server(start: Any) -> None:
    service = start().ready()
    service.submit("hold")
    worker = service.held_by(1)
    service.process.kill()
    service.ends()
    (service.folder / "go").touch()
    wait_for(lambda: not alive(worker), "the worker's end")


def test_a_port_in_use(start: Any) -> None:
    service = start().ready()
    other = start("strong", service.port)
    assert other.ends() == 1
    assert f"Port {service.port} is in use" in other.said()
    assert "Traceback" not in other.err.read_text()


def spoil(var: Path, how: str) -> None:
    """Leave in `var` what a disk, a newer version or a slip of the hand leaves there."""
    if how == "file":
        var.write_text("not a folder")
        return
    var.mkdir()
    if how == "key":
        (var / "server.key").write_bytes(b"short")
    elif how == "newer":
        with sqlite3.connect(var / "judge.sqlite3") as connection:
            connection.execute("create table alembic_version (version_num varchar(32))")
            connection.execute("insert into alembic_version values ('9999')")
    else:
        (var / f"{how}.sqlite3").write_bytes(b"not a database" * 500)


@pytest.mark.parametrize("how", ["file", "key", "newer", "judge", "queue"])
@pytest.mark.parametrize("lang", ["zh_CN.UTF-8", "C.UTF-8"])
def test_data_that_cannot_be_used(tmp_path: Path, capfd: Any, monkeypatch: Any, how: str, lang: str) -> None:
    monkeypatch.setenv("LC_ALL", lang)
    monkeypatch.setattr("judge.service.log.set_up", lambda: None)  # it would outlive this test
    var = tmp_path / "var"
    spoil(var, how)
    settings = Settings(var=var, port=free_port())
    assert serve(settings, course=make_course(tmp_path / "course"), worker_command=["false"]) == 1
    said = capfd.readouterr().out
    assert str(var) in said and "--var" in said and "Traceback" not in said
    assert ("newer version" in said or "更新的版本" in said) == (how == "newer")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", settings.port))  # the port is free again


@pytest.mark.parametrize(
    "arguments", [["--port", "x"], ["--port", "٨"], ["--port", "70000"], ["--threads", "0"]]
)
def test_arguments_that_make_no_sense(arguments: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        command_line(["serve", *arguments])
    assert ended.value.code == 2 and arguments[1] in capsys.readouterr().err


def test_ctrl_c_before_it_has_begun(monkeypatch: Any) -> None:
    def interrupted(*_arguments: Any, **_named: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("judge.service.serve.serve", interrupted)
    assert command_line(["serve"]) == 130


@pytest.mark.slow
def test_a_closed_terminal_drains_as_ctrl_c_does(start: Any) -> None:
    """SIGHUP comes, and nobody reads what is printed any more."""
    inherited = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is rightly ignored
    try:
        service = start().ready()
    finally:
        signal.signal(signal.SIGHUP, inherited)
    made = service.submit("hold")
    service.held_by(1)
    service.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "Ctrl-C again" in service.said(), "the farewell")
    (service.folder / "go").touch()
    assert service.ends() == 0
    assert start().ready().result(made)["attempt"] == 1


def test_without_isolation_it_does_not_start(start: Any) -> None:
    service = start("refuse")
    assert service.ends() == 3
    assert "--accept-weak-isolation" in service.said() and "Traceback" not in service.err.read_text()


def test_a_worker_is_started_again_though_the_database_is_gone(capfd: Any) -> None:
    class Gone:
        def drop_worker(self, _name: str) -> None:
            raise OperationalError("delete", {}, Exception("disk I/O error"))

    child = WorkerChild(cast(Any, Gone()), ["false"])
    child.start()
    assert child.broken.wait(60), "it ended three times, so it was started three times"
    assert capfd.readouterr().out.count("\n") == 2


def test_a_worker_that_never_starts_ends_the_service(start: Any) -> None:
    service = start("broken")
    assert service.ends() == 1
    assert "did not start" in service.said()


def test_weak_isolation_is_said_everywhere(start: Any) -> None:
    service = start("weak").ready()
    assert "no sandbox isolation" in service.said()
    assert '"isolation.weak"' in service.err.read_text()
    told = service.client.get("/api/v1/exercises").json()["judge"]
    assert told["isolation"] == "weak", "the pages show a banner for it"


def test_logs_are_json_lines_without_code(start: Any) -> None:
    import json

    service = start().ready()
    service.result(service.submit("pass  # my secret"))
    lines = [json.loads(line) for line in service.err.read_text().splitlines()]
    events = {line["event"] for line in lines}
    assert {"request", "run.started", "run.done", "worker.started"} <= events
    assert "secret" not in service.err.read_text()


def test_a_terminal_sees_warnings_alone(monkeypatch, capsys):
    for terminal, count in ((True, 1), (False, 2)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        with monkeypatch.context() as patch:
            patch.setattr(logging.getLogger(), "handlers", [])
            log.set_up()
            log.event("request", path="/")
            log.warning("worker.ended", pid=7)
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == count
        assert (lines[-1] == "warning: worker.ended pid=7") == terminal
