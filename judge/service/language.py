"""The language of a page or an answer, from what the browser asks for."""

from __future__ import annotations

from collections.abc import Mapping

from judge.i18n import LANGS


def preferred(accept_language: str) -> str:
    """The first of our languages by the weights of an Accept-Language header.

    Who asks for nothing gets Chinese, the original; who asks only for languages that we lack gets English.
    """
    weighted: list[tuple[float, int, str]] = []
    for place, part in enumerate(accept_language[:500].split(",")):
        tag, _, weight = part.strip().partition(";")
        lang = tag.strip().lower().partition("-")[0]
        if lang in LANGS:
            weighted.append((-_weight(weight), place, lang))
    wanted = [entry for entry in weighted if entry[0] < 0]
    if wanted:
        return min(wanted)[2]
    return "en" if accept_language.strip(" ,*") else "zh"


def from_locale(environ: Mapping[str, str]) -> str:
    """Chinese for a zh locale, else English; the first variable that is set decides, as in POSIX."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environ[name] for name in names if environ.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name != "q":
        return 1.0
    try:
        return min(1.0, max(0.0, float(value)))
    except ValueError:
        return 0.0
