"""What the line of `%%judge 192 --lang zh` asks for. Also used where Python runs in the browser."""

from __future__ import annotations

import shlex

from judge.cli.language import from_locale
from judge.exercises import Exercise, find, load_exercises
from judge.i18n import LANGS, t

OPTIONS = {"--no-engine", "--samples"}


def parse_line(line: str) -> tuple[str, set[str], str]:
    """The magic's arguments: exercise, options, language.

    Raises:
        ValueError: the text shows the right form, in the language of the locale.
    """
    lang = from_locale()
    try:
        words = shlex.split(line)
    except ValueError:  # a quote that is not closed
        raise ValueError(t("notebook.usage", lang)) from None
    if "--lang" in words:
        at = words.index("--lang")
        value = words[at + 1] if at + 1 < len(words) else ""
        del words[at : at + 2]
        if value not in LANGS:
            raise ValueError(t("notebook.usage", lang))
        lang = value
    options = {word for word in words if word.startswith("-")}
    names = [word for word in words if not word.startswith("-")]
    if len(names) != 1 or options - OPTIONS:
        raise ValueError(t("notebook.usage", lang))
    return names[0], options, lang


def asked(line: str) -> tuple[Exercise, set[str], str] | None:
    """The same with the exercise found; None after a word about what is wrong with the line."""
    try:
        name, options, lang = parse_line(line)
    except ValueError as error:
        print(error)
        return None
    try:
        return find(name), options, lang
    except KeyError:
        numbers = ", ".join(str(number) for number in load_exercises())
        print(t("cli.no_such_exercise", lang, name=name[:80], numbers=numbers))
        return None
