"""The database: opened with the pragmas that SQLite needs, brought up to date by Alembic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

MIGRATIONS = Path(__file__).parent / "migrations"
BUSY_S = 15.0
"""How long one transaction waits for another to end."""


def open_engine(url: str) -> Engine:
    """An engine for `url`. SQLite is set to WAL, so that the API reads while the worker writes."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed, pool_pre_ping=True)
    if parsed.database:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(parsed, connect_args={"timeout": BUSY_S})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    if parsed.database and parsed.database != ":memory:":
        _watch_file(engine, Path(parsed.database))
    return engine


def _watch_file(engine: Engine, path: Path) -> None:
    """Never use a connection to a file that was removed or replaced meanwhile.

    SQLite would go on reading and writing the file without a name, and what it acknowledges would be lost.
    """

    def remember(_connection: Any, record: ConnectionPoolEntry) -> None:
        record.info["file"] = _identity(path)

    def compare(_connection: Any, record: ConnectionPoolEntry, _proxy: Any) -> None:
        if record.info["file"] != _identity(path):
            raise DisconnectionError(f"{path} was removed or replaced")

    event.listen(engine, "connect", remember)
    event.listen(engine, "checkout", compare)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself; `_begin_sqlite` does
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Lock at once where writing is meant: a reader that turns writer is refused, not queued."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def migrate(engine: Engine) -> None:
    """Bring the tables to the newest version; a database that is there already does nothing."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.execution_options(writes=True).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
