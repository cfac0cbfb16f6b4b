"""Load a hidden module (cases, drive, checker, mutants) by its path. Trusted side only."""

from __future__ import annotations

import importlib.util
import inspect
import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from judge.exercise_toml import ExerciseError
from judge.exercises import Exercise
from judge.types import Broken, Case, EngineJob, Group, Mutant, Planted

_FUTURE = "from __future__ import annotations\n\n"  # the names in the annotations stay outside of the box
Check = Callable[[Case, list[Any], list[Any]], Broken | None]


@dataclass(frozen=True)
class Hidden:
    """What ``judge/hidden/NNN_slug.py`` defines. Only ``drive_source`` enters the sandbox.

    It is the function ``drive``, behind those of ``DRIVE_USES`` where the module has it.
    """

    exercise: Exercise
    groups: tuple[Group, ...]
    make_cases: Callable[[random.Random], Iterable[Case]]
    drive: Callable[[Any, dict[str, Any], Any], None]
    drive_source: str
    check: Check
    mutants: tuple[Mutant, ...]
    planted: tuple[Planted, ...]
    make_trusted: Callable[[Case], object] | None
    make_jobs: Callable[[], list[EngineJob]]

    def cases(self, seed: str) -> list[Case]:
        """The cases of one run, in the order of the groups. The same seed gives the same cases."""
        cases = list(self.make_cases(random.Random(seed)))
        order = {group.name: place for place, group in enumerate(self.groups)}
        path = self.exercise.hidden_path
        for case in cases:
            if case.group not in order:
                raise ExerciseError(path, "`cases`", f"uses group {case.group!r}", "Name it in GROUPS")
        for missing in order.keys() - {case.group for case in cases}:
            raise ExerciseError(path, "`GROUPS`", f"has {missing!r} without a case", "Add a case or drop it")
        return sorted(cases, key=lambda case: order[case.group])

    def trusted(self, case: Case) -> object:
        """A fresh object that answers ``io.call``; None when the exercise needs none."""
        return self.make_trusted(case) if self.make_trusted else None


def load_hidden(exercise: Exercise) -> Hidden:
    """Import the hidden module of ``exercise``. Raises ExerciseError with the name that is wrong."""
    path = exercise.hidden_path
    if not path.is_file():
        raise ExerciseError(path, "", "is missing", "Without hidden tests nothing can be judged")
    module = _import(exercise)
    groups = tuple(_get(module, exercise, "GROUPS", "a list of Group"))
    drive = _get(module, exercise, "drive", "a function (target, case, io)")
    mutants = tuple(_get(module, exercise, "MUTANTS", "a list of Mutant"))
    if len({mutant.letter for mutant in mutants}) != len(mutants):
        raise ExerciseError(path, "`MUTANTS`", "uses a letter twice", "Give each mutant its own letter")
    if len({group.name for group in groups}) != len(groups) or not groups:
        raise ExerciseError(path, "`GROUPS`", "is empty or names a group twice", "Name each group once")
    planted = _planted(module, exercise, groups)
    return Hidden(
        exercise=exercise,
        groups=groups,
        make_cases=_get(module, exercise, "cases", "a function (rng) -> list[Case]"),
        drive=drive,
        drive_source=_source([*getattr(module, "DRIVE_USES", ()), drive]),
        check=getattr(module, "check", None) or _same_values(getattr(module, "DEFAULT_RULE", 1)),
        mutants=mutants,
        planted=planted,
        make_trusted=getattr(module, "trusted", None),
        make_jobs=getattr(module, "engine_jobs", None) or _default_jobs,
    )


def _import(exercise: Exercise) -> ModuleType:
    path = exercise.hidden_path
    name = f"_judge_hidden_{exercise.key}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and msgspec look their module up there
    try:
        spec.loader.exec_module(module)
    except (ImportError, SyntaxError, NameError, AttributeError, TypeError, ValueError) as error:
        del sys.modules[name]
        problem = f"does not load: {type(error).__name__}: {error}"
        raise ExerciseError(path, "", problem, "Mend the module") from error
    return module


def _get(module: ModuleType, exercise: Exercise, name: str, what: str) -> Any:
    try:
        return getattr(module, name)
    except AttributeError:
        raise ExerciseError(exercise.hidden_path, f"`{name}`", "is missing", f"Define {what}") from None


def _planted(module: ModuleType, exercise: Exercise, groups: tuple[Group, ...]) -> tuple[Planted, ...]:
    """What an exercise that asks for tests has planted: each with a group, behind that of the right one."""
    if exercise.form != "write_the_tests":
        return ()
    planted = tuple(_get(module, exercise, "PLANTED", "a list of Planted"))
    letters = [one.letter for one in planted]
    if not letters or letters != [group.name for group in groups[1:]]:
        remedy = "First a group of the right implementation, then one named by each letter of PLANTED"
        raise ExerciseError(exercise.hidden_path, "`GROUPS`", "do not fit PLANTED", remedy)
    return planted


def _source(functions: list[Callable[..., Any]]) -> str:
    return _FUTURE + "\n\n".join(map(inspect.getsource, functions))


def _same_values(rule: int) -> Check:
    from judge.harness.compare import check_same

    return lambda case, expected, got: check_same(expected, got, rule)


def _default_jobs() -> list[EngineJob]:
    from judge.jobs import default_jobs

    return default_jobs()
