"""`serve`: the API and the pages in this process, the judging in a child that is watched over."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import uvicorn
from alembic.util import CommandError
from sqlalchemy.exc import SQLAlchemyError

from judge.exercise_toml import ExerciseError
from judge.exercises import ROOT, load_exercises
from judge.i18n import t
from judge.service import log
from judge.service.app import create_app
from judge.service.db import migrate, open_engine
from judge.service.language import from_locale
from judge.service.settings import Settings
from judge.service.sse import Streams
from judge.service.store import Store
from judge.service.worker import NO_ISOLATION, open_store

_BACKOFF_S = (0.1, 0.1, 1.0, 3.0, 10.0)
_STABLE_S = 30.0
_FAILURES = 3
_START_S = 60.0


def say(key: str, **values: object) -> None:
    """Words for whoever started the service, on standard output, in the language of the locale."""
    with contextlib.suppress(OSError, ValueError):  # nobody reads it any more; the service goes on
        print(t(f"service.{key}", from_locale(os.environ), **values), flush=True)


class WorkerChild:
    """The worker process: started, started again when it dies, drained at the end."""

    def __init__(self, store: Store, command: Sequence[str]) -> None:
        self._store, self._command = store, list(command)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ending = threading.Event()
        self.has_judged = False
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self.refused = threading.Event()
        """Set when the worker ended because it found no isolation."""
        self.broken = threading.Event()
        """Set when the worker ends again and again without ever having begun to judge."""

    @property
    def pid(self) -> int | None:
        with self._lock:
            return self._process.pid if self._process else None

    def start(self) -> None:
        self._watcher.start()

    def _watch(self) -> None:
        failures = 0
        while not self._ending.is_set():
            name, began = uuid.uuid4().hex, time.monotonic()
            with self._lock:
                if self._ending.is_set():
                    return
                # A session of its own: Ctrl-C in the terminal reaches the server alone, which then drains the
                # worker. The pipe tells the worker when the server is gone, however it went.
                process = subprocess.Popen(
                    [*self._command, "--name", name], stdin=subprocess.PIPE, start_new_session=True
                )
                self._process = process
            status = process.wait()
            self._drop(name)
            if self._ending.is_set():
                return
            if status == NO_ISOLATION:
                self.refused.set()
                return
            log.warning("worker.ended", pid=process.pid, status=status)
            failures = 0 if time.monotonic() - began > _STABLE_S else failures + 1
            if failures == _FAILURES and not self.has_judged:
                self.broken.set()
                return
            say("serve_worker")
            self._ending.wait(_BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)])

    def _drop(self, name: str) -> None:
        """Give up the leases of a worker that ended; where that fails, they run out by themselves."""
        try:
            self._store.drop_worker(name)
        except SQLAlchemyError:
            log.fault("worker.not_dropped")

    def stop(self, drain_s: float) -> None:
        """Let the runs at hand end, at most `drain_s` long; what is left is judged after the next start."""
        self._ending.set()
        with self._lock:
            process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(drain_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the worker and whatever it started, at once."""
        self._ending.set()
        with self._lock:
            process = self._process
        if process is not None and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Server(uvicorn.Server):
    """uvicorn whose first signal ends the open streams too, and whose second ends everything at once."""

    def __init__(self, config: uvicorn.Config, streams: Streams, worker: WorkerChild) -> None:
        super().__init__(config)
        self._streams, self._worker = streams, worker

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self._worker.kill()
            os._exit(130)
        say("serve_stopping")
        self._streams.ending = True
        self.should_exit = True


def serve(settings: Settings, *, course: Path = ROOT, worker_command: Sequence[str] | None = None) -> int:
    """Serve the exercises of `course` until Ctrl-C. Returns the exit status.

    `worker_command` starts the worker, `python -m judge.service worker` by default; `--name NAME` is added.
    """
    log.set_up()
    try:
        exercises = load_exercises(course)
    except ExerciseError as error:
        say("serve_exercise", problem=error)
        return 1
    listener = _listen(settings)
    if listener is None:
        return 1
    try:
        store = _open(settings)
        app = create_app(settings, store, exercises)
    except CommandError:
        listener.close()
        say("serve_newer", folder=settings.var)
        return 1
    except (OSError, ValueError, ImportError, SQLAlchemyError, sqlite3.Error) as error:
        listener.close()
        log.fault("data.unusable")
        say("serve_data", folder=settings.var, reason=_first_line(error))
        return 1
    worker = WorkerChild(store, worker_command or _worker_command(settings))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,
        server_header=False,
        lifespan="off",
    )
    server = Server(config, app.state.service.streams, worker)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # a closed terminal; not under nohup
        signal.signal(signal.SIGHUP, server.handle_exit)
    say("serve_starting")
    worker.start()
    threading.Thread(target=_announce, args=(settings, store, worker, server), daemon=True).start()
    try:
        server.run(sockets=[listener])
    finally:
        worker.stop(settings.drain_s)
    if worker.refused.is_set():
        say("serve_no_isolation")
        return NO_ISOLATION
    if not worker.has_judged:
        return 1
    say("serve_stopped")
    return 0


def _open(settings: Settings) -> Store:
    """The store of an up-to-date database, in a folder that can be written."""
    settings.var.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=settings.var):
        pass
    engine = open_engine(settings.database)
    migrate(engine)
    engine.dispose()
    return open_store(settings)


def _first_line(error: Exception) -> str:
    """What went wrong, without SQLAlchemy's statement and links."""
    cause = getattr(error, "orig", None) or error
    return (str(cause).splitlines() or [type(cause).__name__])[0]


def _announce(settings: Settings, store: Store, worker: WorkerChild, server: Server) -> None:
    """Say where the service is once a submission would be judged; end it where isolation is missing."""
    deadline = time.monotonic() + _START_S
    isolation = None
    while not server.should_exit and time.monotonic() < deadline:
        if worker.refused.wait(0.1):
            server.should_exit = True
            return
        if worker.broken.is_set():
            break
        with contextlib.suppress(SQLAlchemyError):  # busy: asked again
            isolation = store.isolation(settings.worker_fresh_s)
        if isolation is not None and server.started:
            break
    if server.should_exit:
        return
    if isolation is None:
        say("serve_worker_failed")
        server.should_exit = True
        return
    worker.has_judged = True
    if isolation.startswith("weak"):
        say("serve_weak")
        log.warning("isolation.weak")
    if not settings.is_local:
        say("serve_open", host=settings.host)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    say("serve_at", url=f"http://{host}:{settings.port}/")


def _worker_command(settings: Settings) -> list[str]:
    command = [sys.executable, "-m", "judge.service", "worker", "--watch-parent", "--var", str(settings.var)]
    command += ["--threads", str(settings.threads)]
    if settings.database_url:
        command += ["--database", settings.database_url]
    if settings.accept_weak_isolation:
        command.append("--accept-weak-isolation")
    return command


def _listen(settings: Settings) -> socket.socket | None:
    """The listening socket, or None after saying why there is none."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            say("serve_port", port=settings.port, other=settings.port + 1)
        else:
            say("serve_host", host=settings.host, reason=error.strerror or error)
        return None
    return listener
