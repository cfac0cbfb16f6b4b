"""`python -m minisgl`: serve a model, or chat with it in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run what the command line asks for. Returns the exit code."""
    from .server.args import make_parser, parse_args

    parser = make_parser(
        "python -m minisgl",
        "Serve a model behind OpenAI's API (/v1/chat/completions, /v1/completions, /v1/models). `python -m"
        " minisgl shell` chats with it in the terminal instead.",
    )
    args = parse_args(parser, argv)
    from .server.launch import launch_server

    return launch_server(args)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
