"""Run a drive on trusted code, the reference or a mutant, in this process, encoded as it is in a box."""

from __future__ import annotations

import linecache
import time
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import msgspec

from judge.exercises import Exercise
from judge.hidden_module import Hidden
from judge.sandbox.inside.case_io import CaseIO, CaseOver
from judge.sandbox.inside.submission import describe
from judge.sandbox.protocol import Raised, arrived, delivered, packed
from judge.types import Broken, Case, Refused


@dataclass
class Answer:
    """What one case left behind: emitted values, decoded; or how it ended early.

    ``line``: where in the learner's file the tests that a learner has written raised.
    """

    emitted: list[Any] = field(default_factory=list)
    raised: Raised | None = None
    refused: Broken | None = None
    line: int | None = None


class TrustedFault(Exception):
    """A trusted object, a drive on the reference or a checker failed: our fault, never the learner's."""


class Collaborator:
    """A trusted object as a box may see it: its public methods, save its report."""

    def __init__(self, trusted: object) -> None:
        self._trusted = trusted

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "report":
            raise AttributeError(name)
        return getattr(self._trusted, name)


def with_report(trusted: object, emitted: list[Any]) -> list[Any]:
    """The emitted values, and last the trusted object's own report where it gives one."""
    report = getattr(trusted, "report", None)
    return [*emitted, arrived(report())] if callable(report) else emitted


class LocalIO(CaseIO):
    """``io`` without a box: the same encoding, the trusted object asked directly."""

    def __init__(self, collaborator: Collaborator, filename: str) -> None:
        self._collaborator = collaborator
        self._filename = filename
        self.notes: list[Raised] = []
        self.emitted: list[Any] = []
        self.refused: Broken | None = None

    def emit(self, value: Any) -> None:
        self.emitted.append(arrived(value))

    def call(self, name: str, *args: Any) -> Any:
        try:
            answer = getattr(self._collaborator, name)(*arrived(list(args)))
            return delivered(packed(answer))
        except Refused as refusal:
            self.refused = refusal.broken
            raise CaseOver from None


def run_local(
    hidden: Hidden, target: Any, case: Case, filename: str, body: msgspec.Raw | None = None
) -> Answer:
    """Drive ``target`` through one case in this process. Only for code that we wrote.

    ``body`` is the case's data, packed already.
    """
    trusted = hidden.trusted(case)
    io = LocalIO(Collaborator(trusted), filename)
    try:
        hidden.drive(target, delivered(body or packed(case.data)), io)
    except CaseOver:
        return Answer(refused=io.refused)
    except Exception as error:
        return Answer(raised=describe(error, filename))
    return Answer(emitted=with_report(trusted, io.emitted))


def load_reference(exercise: Exercise) -> Any:
    """The solution's target."""
    return load_target(exercise, exercise.solution, str(exercise.solution_path))


def load_target(exercise: Exercise, source: str, filename: str) -> Any:
    """Run a module that we wrote and return what it calls by the target's name. Raises TrustedFault."""
    module = ModuleType(f"_judge_{exercise.key}")
    module.__file__ = filename
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    try:
        exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)
        return module.__dict__[exercise.name]
    except Exception as error:
        raise TrustedFault(f"{filename}: {type(error).__name__}: {error}") from error


def expected_answer(
    hidden: Hidden, reference: Any, case: Case, body: msgspec.Raw | None = None
) -> tuple[list[Any], float]:
    """What the reference emits, and its CPU seconds. Raises TrustedFault when it does not get through."""
    start = time.thread_time()
    answer = run_local(hidden, reference, case, str(hidden.exercise.solution_path), body)
    if answer.raised is not None:
        raised = answer.raised
        raise TrustedFault(f"{hidden.exercise.key}: the reference raises {raised.name}: {raised.message}")
    if answer.refused is not None:
        raise TrustedFault(f"{hidden.exercise.key}: the reference is refused: {answer.refused.text['en']}")
    return answer.emitted, time.thread_time() - start
