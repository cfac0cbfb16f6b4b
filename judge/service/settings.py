"""Where the service keeps its data and how much it lets through."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judge.exercises import ROOT

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Settings:
    """One service. Paths are absolute; times are seconds."""

    var: Path = ROOT / "var"
    """Folder of the database, the queue and the server's key; git ignores it."""
    database_url: str = ""
    """SQLAlchemy URL; empty means SQLite in `var`."""
    site: Path = ROOT / "build" / "site"
    """What `make site` built."""
    host: str = "127.0.0.1"
    port: int = 8000
    allowed_hosts: tuple[str, ...] = ()
    """Names under which the service may be addressed, besides the loopback ones and `host`."""
    accept_weak_isolation: bool = False
    threads: int = field(default_factory=lambda: max(1, min(4, os.cpu_count() or 1)))
    """Submissions judged at the same time."""

    lease_s: float = 30.0
    heartbeat_s: float = 5.0
    reap_s: float = 2.0
    worker_fresh_s: float = 20.0
    """A worker that reported within this time counts as alive."""
    enqueue_again_s: float = 20.0
    """A queued run that nobody took for so long is put into the queue once more."""
    max_attempts: int = 3
    """Runs that die or fail by our fault this often end as SE."""
    drain_s: float = 30.0

    per_minute: int = 60
    """Submissions of one learner within a minute; samples have no limit."""
    unfinished: int = 8
    """Runs of one learner that may wait or run at once: the learner's share of the queue."""
    body_s: float = 20.0
    """Time for the whole body of a request to arrive."""
    streams: int = 64
    """Progress streams open at once."""
    stream_poll_s: float = 0.1
    stream_beat_s: float = 15.0

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Defaults, with `MINISGL_VAR`, `MINISGL_SITE` and `MINISGL_DATABASE_URL` applied."""
        var = Path(environ.get("MINISGL_VAR") or cls.var).resolve()
        site = Path(environ.get("MINISGL_SITE") or cls.site).resolve()
        return cls(var=var, database_url=environ.get("MINISGL_DATABASE_URL", ""), site=site)

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.var / 'judge.sqlite3'}"

    @property
    def queue_file(self) -> Path:
        return self.var / "queue.sqlite3"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the service."""
        return self.host in LOOPBACK

    @property
    def host_names(self) -> frozenset[str]:
        """Host names that a request may carry; any other could be a web page's name, rebound to here."""
        return frozenset(name.lower() for name in (*LOOPBACK, self.host, *self.allowed_hosts))


def server_key(var: Path) -> bytes:
    """The 32 secret bytes that seeds are derived from; made on first use, readable by the owner alone."""
    var.mkdir(parents=True, exist_ok=True)
    path = var / "server.key"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = path.read_bytes()
        if len(key) < 32:
            raise ValueError(
                f"{path}: the server key is cut short; delete the file to have a new one"
            ) from None
        return key
    with os.fdopen(handle, "wb") as file:
        key = secrets.token_bytes(32)
        file.write(key)
    return key
