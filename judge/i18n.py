"""Words for learners, from the one catalogue ``i18n/{zh,en}.toml``."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judge.types import Text


LANGS = ("zh", "en")
_FOLDER = Path(__file__).resolve().parent.parent / "i18n"


@lru_cache(maxsize=len(LANGS))
def _catalogue(lang: str) -> dict[str, dict[str, str]]:
    if lang not in LANGS:
        raise ValueError(f"language {lang!r} is not one of {', '.join(LANGS)}")
    with (_FOLDER / f"{lang}.toml").open("rb") as file:
        return tomllib.load(file)


def t(key: str, lang: str, **values: object) -> str:
    """The entry ``"section.name"`` in ``lang`` with ``{placeholders}`` filled in.

    Raises KeyError when the entry, or the value of a placeholder, is missing.
    """
    section, _, name = key.partition(".")
    try:
        template = _catalogue(lang)[section][name]
    except KeyError:
        raise KeyError(f"i18n/{lang}.toml has no entry {name!r} in [{section}]") from None
    return template.format(**values)


def both(key: str, **values: object) -> Text:
    """The entry in both languages; a value that is itself a Text is taken in the language in question."""
    return {
        lang: t(key, lang, **{name: v[lang] if isinstance(v, dict) else v for name, v in values.items()})
        for lang in LANGS
    }
