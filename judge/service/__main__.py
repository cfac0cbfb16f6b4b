"""`python -m judge.service serve` and `... worker`."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

from judge.service import log
from judge.service.settings import Settings


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns its exit status."""
    options = _parser().parse_args(arguments)
    given = {name: value for name, value in vars(options).items() if value is not None and name in _SETTINGS}
    settings = dataclasses.replace(Settings.from_environment(), **given)
    command: Callable[[Settings, argparse.Namespace], int] = options.run
    try:
        return command(settings, options)
    except KeyboardInterrupt:  # before there is anything to end in order
        return 130


_SETTINGS = frozenset(field.name for field in dataclasses.fields(Settings))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m judge.service", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="serve|worker")

    serve = commands.add_parser("serve", help="the site, the API and a worker")
    serve.add_argument("--host", help="address to listen on (default 127.0.0.1: this machine alone)")
    serve.add_argument("--port", type=_port, help="default 8000")
    serve.add_argument(
        "--allow-host",
        dest="allowed_hosts",
        action="append",
        metavar="NAME",
        help="a further name that requests may address",
    )
    serve.add_argument(
        "--site", type=_folder, help="what `make site` built (default build/site, or MINISGL_SITE)"
    )
    serve.set_defaults(run=_serve)

    worker = commands.add_parser("worker", help="judge what is in the queue")
    worker.add_argument("--name", help="how this worker is called in the database")
    worker.add_argument("--watch-parent", action="store_true", help="end when standard input closes")
    worker.set_defaults(run=_worker)

    for command in (serve, worker):
        command.add_argument("--var", type=_folder, help="folder of the data (default var/, or MINISGL_VAR)")
        command.add_argument(
            "--database",
            dest="database_url",
            metavar="URL",
            help="SQLAlchemy URL (default SQLite in --var, or MINISGL_DATABASE_URL)",
        )
        command.add_argument("--threads", type=_count, help="submissions judged at the same time")
        command.add_argument(
            "--accept-weak-isolation",
            action="store_true",
            default=None,
            help="judge even where submissions cannot be isolated",
        )
    return parser


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _port(text: str) -> int:
    port = _whole(text)
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is not from 1 to 65535")
    return port


def _count(text: str) -> int:
    count = _whole(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} is not 1 or more")
    return count


def _folder(text: str) -> Path:
    return Path(text).resolve()


def _serve(settings: Settings, _options: argparse.Namespace) -> int:
    from judge.service.serve import serve

    return serve(settings)


def _worker(settings: Settings, options: argparse.Namespace) -> int:
    from judge.service.production import judging

    log.set_up()
    return judging(settings, name=options.name, watch_parent=options.watch_parent)


if __name__ == "__main__":
    sys.exit(main())
