"""Structured logs on standard error: one JSON object a line. On a terminal only warnings, for people."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

_log = logging.getLogger("judge.service")


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{when}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line.update(getattr(record, "fields", {}))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class _ForPeople(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        facts = "".join(f" {name}={value}" for name, value in fields.items())
        line = f"{record.levelname.lower()}: {record.getMessage()}{facts}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def set_up() -> None:
    """Log to standard error all events, or to a terminal warnings; nothing of huey and uvicorn."""
    on_terminal = sys.stderr.isatty()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_ForPeople() if on_terminal else _JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    _log.setLevel(logging.WARNING if on_terminal else logging.INFO)


def event(name: str, **fields: Any) -> None:
    """Log that something happened, with its facts as fields."""
    _log.info(name, extra={"fields": fields})


def warning(name: str, **fields: Any) -> None:
    """Log something that an operator should look at."""
    _log.warning(name, extra={"fields": fields})


def fault(name: str, **fields: Any) -> None:
    """Log a fault of ours with the stack of the exception being handled."""
    _log.error(name, exc_info=True, extra={"fields": fields})
