"""Starters: everything a learner needs to begin, and nothing of the body."""

from __future__ import annotations

import ast

import pytest
import toy

from judge.exercise_toml import ExerciseError
from judge.exercises import load_exercise, load_exercises
from judge.solution import solution_text
from judge.starter import origin_of, starter

ENGINE = '''\
from __future__ import annotations
import torch
from typing import TYPE_CHECKING, Literal
from ..core import Req as Request
from .utils import helper
if TYPE_CHECKING:
    from ..kvcache import Handle
LIMIT = 3
class Manager:
    """Manages."""
    @property
    def size(self) -> int:
        """How many."""
        return secret_size
    def take(
        self,
        req: Request,
        *others: "Handle",
        limit: int = LIMIT,
        key=lambda x: {1: x}[1],
        mode: "Literal['fast', 'slow'] | None" = "fast",
    ) -> dict[str, torch.Tensor]:  # a comment with a colon: here
        """Take it.

        Indented:
            more.
        """
        secret_call(req)
        return {}
'''


def engine_toy(make_toy, target: str, **more: str):
    toml = toy.TOML.replace('target = "double_all"', f'target = "{target}"')
    toml = toml.replace('place = "none"', 'place = "engine"')
    for field, value in more.items():
        toml = toml.replace("points = 5", f"points = 5\n{field} = {value}")
    exercise = make_toy(toml=toml)
    module = exercise.root / "minisgl" / "part" / "work.py"
    module.parent.mkdir(parents=True)
    module.write_text(ENGINE)
    return exercise


@pytest.mark.parametrize(("lang", "hint"), [("zh", "# 先检查\n"), ("en", "# Check first\n")])
def test_signature_docstring_and_hints(make_toy, lang, hint):
    source = starter(make_toy(), lang)
    assert "def double_all(numbers: list[int]) -> list[int]:\n" in source
    assert '"""Twice each number."""' in source
    assert hint in source and "|" not in source
    assert "any(" not in source and "2 *" not in source
    namespace: dict = {}
    exec(source, namespace)
    with pytest.raises(NotImplementedError):
        namespace["double_all"]([1])


def test_a_method_becomes_a_function_with_the_imports_of_its_signature(make_toy):
    source = starter(engine_toy(make_toy, "minisgl.part.work:Manager.take"), "en")
    tree = ast.parse(source)
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imports == [
        "from minisgl.core import Req as Request",
        "from minisgl.kvcache import Handle",
        "from minisgl.part.work import LIMIT",
        "from typing import Literal",
        "import torch",
    ]
    (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert function.name == "take" and [a.arg for a in function.args.args] == ["self", "req"]
    assert ast.get_docstring(function) == "Take it.\n\nIndented:\n    more."
    assert "# 1. Each number is doubled." in source and "# 2. A negative number" in source
    assert "secret" not in source and "helper" not in source


def test_a_class_target_has_its_members(make_toy):
    exercise = engine_toy(make_toy, "minisgl.part.work:Manager", members='["size"]')
    source = starter(exercise, "zh")
    (definition,) = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    (method,) = definition.body
    assert isinstance(method, ast.FunctionDef) and method.name == "size"
    assert "@property" in source and "secret" not in source


def test_rules_stand_in_the_class_and_the_solution_shows_its_members_alone(make_toy):
    exercise = engine_toy(make_toy, "minisgl.part.work:Manager", members='["size"]')
    source = starter(exercise, "en")
    assert source.index("class Manager:") < source.index("    # 1. Each number is doubled.")
    (shown,) = [node for node in ast.parse(solution_text(exercise)).body if isinstance(node, ast.ClassDef)]
    assert [node.name for node in shown.body] == ["size"]
    assert "NotImplementedError" not in solution_text(exercise)


def test_a_member_that_the_engine_lacks(make_toy):
    exercise = engine_toy(make_toy, "minisgl.part.work:Manager", members='["sise"]')
    with pytest.raises(ExerciseError, match="does not define sise"):
        starter(exercise, "zh")


def test_a_target_that_the_engine_lacks(make_toy):
    with pytest.raises(ExerciseError, match=r"`Manager\.give` is not defined"):
        starter(engine_toy(make_toy, "minisgl.part.work:Manager.give"), "zh")


def test_a_module_that_the_engine_lacks(make_toy):
    with pytest.raises(ExerciseError, match=r"__init__\.py is missing"):
        starter(engine_toy(make_toy, "minisgl.part.play:Manager"), "zh")


def test_an_annotation_that_cannot_be_imported(make_toy):
    solution = toy.SOLUTION.replace("-> list[int]", "-> Doubled").replace(
        "def double", "Doubled = list\n\ndef double"
    )
    with pytest.raises(ExerciseError, match="`Doubled` cannot be imported"):
        starter(make_toy(solution=solution), "en")


def test_a_hint_needs_both_languages(make_toy):
    with pytest.raises(ExerciseError, match="line 6 has a hint in one language"):
        starter(make_toy(solution=toy.SOLUTION.replace(" | Check first", "")), "zh")


def test_find_the_bug_starts_from_the_wrong_function(make_toy, tmp_path):
    exercise = make_toy()
    wrong = "def double_all(numbers):\n    return numbers\n"
    exercise.starter_path.write_text(wrong)
    toml = exercise.folder / "exercise.toml"
    toml.write_text(toml.read_text().replace('"write"', '"find_the_bug"'))
    assert starter(load_exercise(exercise.folder, tmp_path), "en").endswith("\n" + wrong)


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_starters_of_the_course_hold_no_line_of_the_body(lang):
    for exercise in load_exercises().values():
        source = starter(exercise, lang)
        compile(source, exercise.key, "exec")
        namespace: dict = {}
        exec(source, namespace)
        assert exercise.name in namespace
        if exercise.form == "find_the_bug":
            continue
        assert "raise NotImplementedError" in source
        definition = origin_of(exercise).definition(exercise.qualname)
        parts = [definition]
        if isinstance(definition, ast.ClassDef):
            parts = [node for node in definition.body if isinstance(node, ast.FunctionDef)]
            parts = [node for node in parts if not exercise.members or node.name in exercise.members]
        statements = [node for part in parts for node in part.body if not isinstance(node, ast.Expr)]
        for line in "\n".join(ast.unparse(node) for node in statements).splitlines():
            code = line.strip()
            assert len(code) < 12 or code not in source, f"{exercise.key}: {code}"
