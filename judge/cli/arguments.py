"""The command line's grammar. Every mistake ends in one message that says what to type."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

from judge.i18n import t

COMMANDS = ("test", "list", "start", "hint", "solution", "engine", "doctor", "check")


class Usage(Exception):
    """A command that cannot be carried out as it was typed; the text is for the learner."""


class _Parser(argparse.ArgumentParser):
    """argparse, with its one-line errors turned into ours."""

    lang = "en"

    def error(self, message: str) -> NoReturn:
        problem = _problem(message, self.lang)
        raise Usage(t("cli.bad_arguments", self.lang, problem=problem, usage=t("cli.usage", self.lang)))


_PROBLEMS = {
    "bad_unknown": r"unrecognized arguments: (?P<what>.+)",
    "bad_choice": r"argument (?P<option>\S+): invalid choice: (?P<value>.+) \(choose from (?P<choices>.+)\)",
    "bad_no_value": r"argument (?P<option>\S+): expected one argument",
    "bad_no_use": r"argument (?P<option>\S+): ignored explicit argument (?P<value>.+)",
}
"""What argparse says, which it does in English alone."""


def _problem(message: str, lang: str) -> str:
    for key, pattern in _PROBLEMS.items():
        if match := re.fullmatch(pattern, message, re.DOTALL):
            parts = {name: said.replace("'", "") for name, said in match.groupdict().items()}
            return t(f"cli.{key}", lang, **parts)
    return t("cli.bad_other", lang)


def _parser(lang: str) -> _Parser:
    parser = _Parser(prog="judge.py", add_help=False, usage=t("cli.usage", lang), allow_abbrev=False)
    parser.lang = lang
    parser.add_argument("-h", "--help", action="store_true")
    commands = parser.add_subparsers(dest="command", parser_class=_Parser)

    def command(name: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, add_help=False, allow_abbrev=False)
        assert isinstance(sub, _Parser)
        sub.lang = lang
        sub.add_argument("-h", "--help", action="store_true")
        sub.add_argument("--lang", choices=("zh", "en"), default=lang)
        return sub

    test = command("test")
    test.add_argument("id", nargs="?")
    test.add_argument("file", nargs="?")
    test.add_argument("--samples", action="store_true")
    test.add_argument("--no-engine", action="store_true")
    test.add_argument("--device", choices=("cpu", "cuda"))
    test.add_argument("--watch", action="store_true")
    test.add_argument("--json", action="store_true")
    command("list").add_argument("--json", action="store_true")
    start = command("start")
    start.add_argument("id", nargs="?")
    start.add_argument("--force", action="store_true")
    hint = command("hint")
    hint.add_argument("id", nargs="?")
    hint.add_argument("number", nargs="?", default="1")
    solution = command("solution")
    solution.add_argument("id", nargs="?")
    solution.add_argument("--force", action="store_true")
    command("engine").add_argument("file", nargs="?")
    command("doctor").add_argument("--json", action="store_true")
    check = command("check")
    check.add_argument("id", nargs="?")
    return parser


def parse(argv: list[str], lang: str) -> argparse.Namespace:
    """The options of one command. `192 ...` is short for `test 192 ...`.

    Raises:
        Usage: the arguments make no command; the message shows the right form.
    """
    words = list(argv)
    # `judge.py --lang zh 192` means the same as `judge.py 192 --lang zh`.
    leading: list[str] = []
    while words and words[0].startswith("--lang"):
        leading.append(words.pop(0))
        if leading[-1] == "--lang" and words:
            leading.append(words.pop(0))
    if words and words[0] not in COMMANDS and words[0] not in ("-h", "--help"):
        words.insert(0, "test")
    if not words:
        words = ["--help"]
    options = _parser(lang).parse_args(words + (leading if words[0] in COMMANDS else []))
    if options.help:
        options.command, options.lang = "help", lang
    elif options.command in ("test", "start", "hint", "solution") and not options.id:
        raise Usage(t("cli.which_exercise", lang, command=options.command))
    return options
