"""What the app's scripts read: exercises, words, study cards. Only what a learner may see before a pass."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from judge.exercises import ROOT, Exercise
from judge.i18n import LANGS, t
from judge.own_run import takes_trace
from judge.source import interface
from judge.starter import starter

PROMPTS = {
    "zh": ["从前，海边有一个小村子，", "从前，海边有一座灯塔，"],
    "en": ["Once upon a time, in a village by the sea,", "Once upon a time, in a village by the hill,"],
}
"""For a run in the tab. They begin alike, so that the prefix cache has something to share."""


@lru_cache(maxsize=len(LANGS))
def script_words(lang: str) -> dict[str, str]:
    """The words that scripts use, placeholders left in; keys without their `ui_`."""
    catalogue = tomllib.loads((ROOT / "i18n" / f"{lang}.toml").read_text(encoding="utf-8"))
    return {key[3:]: text for key, text in catalogue["web"].items() if key.startswith("ui_")}


def json_block(value: Any) -> Markup:
    """`value` as JSON that can stand inside a script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False)
    for character, escape in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(character, escape)
    return Markup(text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def exercise_data(one: Exercise, exercises: Sequence[Exercise], lang: str) -> dict[str, Any]:
    """One exercise in `lang`: the ExerciseSpec of web/src/runner/types.ts, and what the desk shows."""
    following = exercises[(exercises.index(one) + 1) % len(exercises)]
    other = next(each for each in LANGS if each != lang)
    return {
        "id": one.id,
        "slug": one.slug,
        "target": one.target,
        "place": one.place,
        "members": list(one.members),
        "interface": interface(one),
        "browser": one.browser,
        "samples": one.samples,
        "ownRun": own_run_of(one),
        "lang": lang,
        "name": one.name,
        "title": one.title[lang],
        "chapter": one.chapter,
        "points": one.points,
        "minutes": one.minutes,
        "form": one.form,
        "filename": f"{one.key}.py",
        "starter": starter(one, lang),
        "starterOther": starter(one, other),
        "rules": {str(rule.number): rule.text[lang] for rule in one.rules},
        "hints": [hint[lang] for hint in one.hints],
        "limits": {
            "cpu_s": one.limits.cpu_s,
            "memory_mb": one.limits.memory_mb,
            "source_kb": one.limits.source_kb,
        },
        "animations": animations(one),
        "prompts": list(one.engine_text.get(lang) or PROMPTS[lang]),
        "next": None
        if following is one
        else {"id": following.id, "name": following.name, "title": following.title[lang]},
    }


def own_run_of(one: Exercise) -> dict[str, Any] | None:
    """What plays the learner's code where the engine does not, and whether it asks for the engine's run."""
    if one.own_run is None:
        return None
    return {"source": one.own_run, "engine": takes_trace(one.own_run)}


def animations(one: Exercise) -> list[str]:
    """The animations that play a run of it, the best first, by animations/for_exercise.json."""
    table = json.loads((ROOT / "animations" / "for_exercise.json").read_text(encoding="utf-8"))
    found: list[str] = table["exercises"].get(str(one.id), table["otherwise"])
    return found


def write_exercises(exercises: Mapping[int, Exercise], out: Path) -> None:
    """`NNN.json` for the exercises inside chapters: {zh, en} of the same as the exercise page holds."""
    out.mkdir(parents=True, exist_ok=True)
    every = list(exercises.values())
    for one in every:
        both = {lang: exercise_data(one, every, lang) for lang in LANGS}
        write_json(out / f"{one.id}.json", both)


def write_words(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for lang in LANGS:
        write_json(out / f"words.{lang}.json", script_words(lang))


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def chapter_title(name: str, lang: str) -> str:
    """ "Chapter 8 · CacheManager and admission" for `08_cache_manager`."""
    number = name[:2]
    return t("web.chapter", lang, n=int(number), title=t(f"web.chapter_{number}", lang))
