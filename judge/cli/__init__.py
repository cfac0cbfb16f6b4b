"""The learner's command line; `practice/judge.py` starts it."""

from __future__ import annotations

import logging
import sys

from judge.cli import commands, workspace
from judge.cli.arguments import Usage, parse
from judge.cli.language import choose

__all__ = ["main"]

ACCEPTED, NOT_ACCEPTED, USAGE, FAULT = 0, 1, 2, 3


def main(argv: list[str]) -> int:
    """Run one command; the exit code is 0 accepted, 1 not accepted, 2 usage, 3 a fault of the judge."""
    lang = choose(argv)
    _log_to_file()
    try:
        options = parse(argv, lang)
        return commands.run(options)
    except Usage as error:
        print(error, file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return NOT_ACCEPTED
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): there is nobody left to tell.
        sys.stderr.close()
        return NOT_ACCEPTED


def _log_to_file() -> None:
    """A fault inside the judge is for its authors: it goes to a file, not between a learner's lines."""
    try:
        path = workspace.log_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        handler: logging.Handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    except OSError:
        handler = logging.NullHandler()
    logging.basicConfig(
        handlers=[handler], format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
