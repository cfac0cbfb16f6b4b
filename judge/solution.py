"""The reference as a learner sees it after a pass.

For an exercise on an engine name the solution file only imports the engine's own function, so what is shown
is that function, cut out of its module.
"""

from __future__ import annotations

import ast
import textwrap

from judge.exercises import Exercise
from judge.starter import Origin, first_line, origin_of

_MARK = "# hint:"


def solution_text(exercise: Exercise) -> str:
    """The reference's source: a module that could be submitted as it is.

    Raises:
        ExerciseError: the solution is missing or does not define the target.
    """
    if exercise.module is None:
        return _without_marks(exercise.solution)
    origin = origin_of(exercise)
    node = origin.definition(exercise.qualname)
    shown: list[ast.stmt] = [node]
    head = ""
    if isinstance(node, ast.ClassDef) and exercise.members:  # the rest of the class is not the learner's
        shown = [part for part in node.body if getattr(part, "name", "") in exercise.members]
        head = f"class {node.name}:\n"
    known = origin.importable()
    used = {part.id for one in shown for part in ast.walk(one) if isinstance(part, ast.Name)}
    imports = "\n".join(sorted({known[name] for name in used & known.keys()}))
    body = head + "\n\n".join(_text(origin, one, indented=bool(head)) for one in shown)
    return f"from __future__ import annotations\n\n{imports}\n\n\n{_without_marks(body)}"


def _text(origin: Origin, node: ast.stmt, *, indented: bool) -> str:
    """A definition's lines; those of a method as they stand."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    lines = "\n".join(origin.lines[first_line(node) - 1 : node.end_lineno])
    return lines if indented else textwrap.dedent(lines)


def _without_marks(source: str) -> str:
    """The source without the hint comments, which are for the starter alone."""
    return "\n".join(line for line in source.splitlines() if not line.lstrip().startswith(_MARK)) + "\n"
