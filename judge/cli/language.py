"""Which language the command line speaks: `--lang`, else the locale."""

from __future__ import annotations

import os

_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")


def from_locale(environ: dict[str, str] | None = None) -> str:
    """Chinese for a zh locale, else English; the first variable that is set decides, as in POSIX."""
    environ = dict(os.environ) if environ is None else environ
    value = next((environ[name] for name in _LOCALE if environ.get(name)), "")
    return "zh" if value.lower().startswith("zh") else "en"


def choose(argv: list[str]) -> str:
    """The language for messages, known before the arguments are parsed so that their errors use it, too."""
    for position, argument in enumerate(argv):
        if argument == "--lang" and position + 1 < len(argv):
            return "zh" if argv[position + 1] == "zh" else "en"
        if argument.startswith("--lang="):
            return "zh" if argument.removeprefix("--lang=") == "zh" else "en"
    return from_locale()
