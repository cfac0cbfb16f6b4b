"""What a learner starts from: the solution's signature, docstring and hints, without its body.

Marked hints are comment lines ``# hint: <zh> | <en>`` in the solution's body. The engine's own functions have
none: there the exercise's rules take their place. A find-the-bug exercise starts from the wrong function in
its folder.
"""

from __future__ import annotations

import ast
import builtins
import io
import textwrap
import tokenize
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path

from judge.comments import comment_lines
from judge.exercise_toml import ExerciseError
from judge.exercises import Exercise
from judge.i18n import t

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_MARK = "# hint:"


def starter(exercise: Exercise, lang: str) -> str:
    """The source that a new file of ``exercise`` begins with; it parses and defines the target.

    Raises ExerciseError when the solution does not define the target or an annotation cannot be imported.
    """
    title = f"# {exercise.id} {exercise.name} · {exercise.title[lang]}\n"
    if exercise.form == "find_the_bug":
        return title + "\n" + exercise.starter_path.read_text(encoding="utf-8").lstrip()
    origin = origin_of(exercise)
    node = origin.definition(exercise.qualname if exercise.module else exercise.name)
    rules = [] if exercise.module is None else [f"{r.number}. {r.text[lang]}" for r in exercise.rules]
    if isinstance(node, ast.ClassDef):
        body = origin.class_skeleton(node, exercise.members, lang, rules)
    else:
        body = origin.function_skeleton(node, lang, rules)
    imports = origin.imports_for(node, exercise.members)
    parts = [title, "\n".join(imports) + "\n"] if imports else [title]
    return "\n".join(parts) + "\n\n" + body


def origin_of(exercise: Exercise) -> Origin:
    """Where the body to be removed is written: the engine's module, or else the solution."""
    if exercise.module is None:
        return _parsed(exercise.solution_path, exercise.solution, None)
    base = exercise.root / exercise.module.replace(".", "/")
    path = base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"
    if not path.is_file():
        raise ExerciseError(path, "", "is missing", "exercise.toml names it in `target`")
    return _parsed(path, path.read_text(encoding="utf-8"), exercise.module)


@lru_cache(maxsize=32)
def _parsed(path: Path, source: str, module: str | None) -> Origin:
    """Every submission is compared with one: the text is read anew, and parsed once."""
    return Origin(path, source, module)


class Origin:
    """A parsed source file, its comments, and what its names are imported from."""

    def __init__(self, path: Path, source: str, module: str | None) -> None:
        self.path, self.module = path, module
        self.lines = source.splitlines()
        self.tree = ast.parse(source)
        self._source = source

    @cached_property
    def tokens(self) -> list[tokenize.TokenInfo]:
        """Comments are tokens, and no part of the tree."""
        return list(tokenize.generate_tokens(io.StringIO(self._source).readline))

    def definition(self, qualname: str) -> _Function | ast.ClassDef:
        """The function or class called ``qualname``, for example ``CacheManager.cache_req``."""
        scope: list[ast.stmt] = self.tree.body
        node: _Function | ast.ClassDef | None = None
        for name in qualname.split("."):
            node = next((n for n in scope if isinstance(n, _DEFINITIONS) and n.name == name), None)
            if node is None:
                remedy = f"Define {name} there, or mend `target`"
                raise ExerciseError(self.path, f"`{qualname}`", "is not defined", remedy)
            scope = node.body
        assert node is not None
        return node

    def function_skeleton(self, node: _Function, lang: str, rules: Sequence[str] = ()) -> str:
        """Decorators, signature, docstring, hints, ``rules``, ``raise NotImplementedError``; not indented."""
        docstring = _docstring_node(node)
        lines = self._header(node)
        if docstring is not None:
            lines += self.lines[docstring.lineno - 1 : docstring.end_lineno]
        lines = textwrap.dedent("\n".join(lines)).splitlines()
        for hint in (*self._hints(node, lang), *rules):
            lines += [f"    {line}" for line in comment_lines(hint)]
        unwritten, here = (
            t("verdict.starter_unwritten", lang, name=node.name),
            t("verdict.starter_here", lang),
        )
        lines += [f'    raise NotImplementedError("{unwritten}")  # {here}']
        return "\n".join(lines) + "\n"

    def class_skeleton(
        self, node: ast.ClassDef, members: tuple[str, ...], lang: str, rules: Sequence[str] = ()
    ) -> str:
        """The class with the bodies of ``members`` removed; all methods when the exercise names none."""
        docstring = _docstring_node(node)
        parts = [f"class {node.name}:"]
        if rules:
            lines = [f"    {line}" for rule in rules for line in comment_lines(rule)]
            parts.append("\n".join(lines) + "\n")
        if docstring is not None and not members:
            doc = "\n".join(self.lines[docstring.lineno - 1 : docstring.end_lineno])
            parts.append(textwrap.indent(textwrap.dedent(doc), "    ") + "\n")
        for method in self._members(node, members):
            parts.append(textwrap.indent(self.function_skeleton(method, lang), "    "))
        return "\n".join(parts)

    def imports_for(self, node: _Function | ast.ClassDef, members: tuple[str, ...]) -> list[str]:
        """Import lines for every name that the kept signatures use, sorted."""
        functions = self._members(node, members) if isinstance(node, ast.ClassDef) else [node]
        names = {name for function in functions for name in _signature_names(function)}
        if isinstance(node, ast.ClassDef):
            names.discard(node.name)
        known = self.importable()
        lines = set()
        for name in names - set(dir(builtins)):
            if name not in known:
                remedy = "Use a builtin type or an imported one in the signature"
                raise ExerciseError(self.path, f"`{name}`", "cannot be imported by a starter", remedy)
            lines.add(known[name])
        return sorted(lines)

    def _members(self, node: ast.ClassDef, members: tuple[str, ...]) -> list[_Function]:
        methods = [n for n in node.body if isinstance(n, _Function)]
        missing = set(members) - {method.name for method in methods}
        if missing:
            problem = f"does not define {', '.join(sorted(missing))}"
            raise ExerciseError(self.path, f"`{node.name}`", problem, "Mend `members` in exercise.toml")
        return [method for method in methods if not members or method.name in members]

    def _header(self, node: _Function) -> list[str]:
        """The source lines from the first decorator to the colon that ends the signature."""
        first = first_line(node)
        depth = 0
        for token in self.tokens:
            if token.start[0] < node.lineno or token.type != tokenize.OP:
                continue
            depth += (token.string in "([{") - (token.string in ")]}")
            if token.string == ":" and depth == 0:
                row, column = token.end
                return [*self.lines[first - 1 : row - 1], self.lines[row - 1][:column]]
        raise AssertionError("a function that parses has a colon")

    def _hints(self, node: _Function, lang: str) -> list[str]:
        hints = []
        for token in self.tokens:
            inside = node.lineno <= token.start[0] <= (node.end_lineno or node.lineno)
            if inside and token.type == tokenize.COMMENT and token.string.startswith(_MARK):
                zh, bar, en = token.string.removeprefix(_MARK).partition("|")
                if not bar:
                    where = f"line {token.start[0]}"
                    raise ExerciseError(self.path, where, "has a hint in one language", "Write <zh> | <en>")
                hints.append((zh if lang == "zh" else en).strip())
        return hints

    def importable(self) -> dict[str, str]:
        """Name -> the line that imports it; ``if TYPE_CHECKING`` blocks count, own definitions too."""
        known: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    known[alias.asname or alias.name.partition(".")[0]] = f"import {_spelled(alias)}"
            elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
                for alias in node.names:
                    line = f"from {self._absolute(node)} import {_spelled(alias)}"
                    known[alias.asname or alias.name] = line
        if self.module is not None:
            for definition in self.tree.body:
                for name in _defined(definition):
                    known[name] = f"from {self.module} import {name}"
        return known

    def _absolute(self, node: ast.ImportFrom) -> str:
        if node.level == 0:
            return node.module or ""
        package = self.module or ""
        steps = node.level - (1 if self.path.name == "__init__.py" else 0)
        for _ in range(steps):
            package = package.rpartition(".")[0]
        return f"{package}.{node.module}" if node.module else package


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def first_line(node: _Function | ast.ClassDef) -> int:
    """The line where a definition begins, decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _docstring_node(node: _Function | ast.ClassDef) -> ast.Expr | None:
    first = node.body[0]
    return first if isinstance(first, ast.Expr) and ast.get_docstring(node) is not None else None


def _signature_names(node: _Function) -> set[str]:
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    annotations = [argument.annotation for argument in every if argument] + [node.returns]
    values = [*given.defaults, *given.kw_defaults, *node.decorator_list]
    names = {name for value in values if value for name in _names(value)}
    return names | {name for note in annotations if note for name in _names(note, annotation=True)}


def _names(expression: ast.expr, *, annotation: bool = False) -> set[str]:
    """Names that an expression reads and does not bind itself; in an annotation, text is code, too."""
    read: set[str] = set()
    bound: set[str] = set()
    todo: list[ast.AST] = [expression]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and annotation:
            todo.append(ast.parse(node.value, mode="eval").body)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal"):
            todo.append(node.value)  # what it lists are values
        else:
            todo += ast.iter_child_nodes(node)
    return read - bound


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, _DEFINITIONS):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def _spelled(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name
