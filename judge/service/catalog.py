"""The exercises as the service shows them: loaded once, their texts read as they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judge.exercises import Exercise
from judge.service.markdown import render
from judge.starter import starter


@dataclass(frozen=True)
class Catalog:
    """All exercises by number, with the views that the API and the pages share."""

    exercises: Mapping[int, Exercise]

    def get(self, name: int | str) -> Exercise | None:
        """The exercise 192, "192", "cache_req" or "192_cache_req"."""
        if isinstance(name, int):
            return self.exercises.get(name)
        if name.isascii() and name.isdigit() and len(name) < 9:
            return self.exercises.get(int(name))
        return next((one for one in self.exercises.values() if name in (one.slug, one.key)), None)

    @property
    def most_source_kb(self) -> int:
        return max((one.limits.source_kb for one in self.exercises.values()), default=64)

    def brief(self, exercise: Exercise, state: str) -> dict[str, Any]:
        """One entry of the list; `state` is untouched, tried or accepted."""
        return {
            "id": exercise.id,
            "slug": exercise.slug,
            "title": exercise.title,
            "chapter": exercise.chapter,
            "level": exercise.level,
            "points": exercise.points,
            "minutes": exercise.minutes,
            "form": exercise.form,
            "place": exercise.place,
            "state": state,
        }

    def full(self, exercise: Exercise, state: str, lang: str) -> dict[str, Any]:
        """Everything a learner may see before a pass; statement and starter in `lang`."""
        limits = exercise.limits
        return self.brief(exercise, state) | {
            "lang": lang,
            "target": exercise.target,
            "members": list(exercise.members),
            "browser": exercise.browser,
            "limits": {
                "cpu_s": limits.cpu_s,
                "memory_mb": limits.memory_mb,
                "source_kb": limits.source_kb,
            },
            "filename": f"{exercise.key}.py",
            "statement": exercise.statement(lang),
            "statement_html": statement_html(exercise, lang),
            "rules": [{"number": rule.number, **rule.text} for rule in exercise.rules],
            "hints": list(exercise.hints),
            "samples": exercise.samples,
            "starter": starter(exercise, lang),
        }


def statement_html(exercise: Exercise, lang: str) -> str:
    """The statement without its title (the page has its own), as sanitised HTML."""
    lines = exercise.statement(lang).lstrip().splitlines()
    if lines and lines[0].startswith("# "):
        lines = lines[1:]
    return render("\n".join(lines))
