"""`python -m minisgl`: serve a model, or chat with it in the terminal."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run what the command line asks for. Returns the exit code."""
    if "shell" in argv[:1] or "--shell" in argv:
        from . import shell

        return shell.main(
            [word for i, word in enumerate(argv) if word != "--shell" and (i, word) != (0, "shell")]
        )
    from .server.args import make_args, make_parser

    parser = make_parser(
        "python -m minisgl",
        "Serve a model behind OpenAI's API (/v1/chat/completions, /v1/completions, /v1/models). `python -m"
        " minisgl shell` chats with it in the terminal instead.",
    )
    args = make_args(parser, vars(parser.parse_args(argv)))
    from .server.launch import launch_server  # takes over a second: a wrong flag is told before it

    return launch_server(args)


def run() -> int:
    """`main` with the command line. Ctrl-C while something loads ends it without a traceback."""
    try:
        return main(sys.argv[1:])
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(run())
