"""Read a submitted file and check what can be told without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from judge.exercises import Exercise
from judge.i18n import both
from judge.sandbox import Parameter
from judge.starter import origin_of
from judge.types import Text

_PYTHON = (3, 11)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)
_NAME = r"[\w\x80-\U0010ffff]"
_DOTTED = re.compile(rf"(?<!{_NAME})(?:{_NAME}++[ \t\f\\\n]*+\.[ \t\f\\\n]*+)++")
_LONGEST_DOTTED = 500


class CannotJudge(Exception):
    """The file cannot be judged (verdict CE). ``text`` is the whole message, ``line`` where it is known."""

    def __init__(self, text: Text, line: int | None = None) -> None:
        super().__init__(text["en"])
        self.text, self.line = text, line


def read_source(exercise: Exercise, raw: bytes) -> str:
    """The submission as text with ``\\n`` line ends; a byte order mark and CRLF are accepted.

    Raises CannotJudge: too large, not UTF-8, empty, does not parse, or does not define the target as due.
    """
    limit = exercise.limits.source_kb * 1024
    if len(raw) > limit:
        raise CannotJudge(both("verdict.ce_large", kb=exercise.limits.source_kb))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise CannotJudge(both("verdict.ce_encoding", line=line), line) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise CannotJudge(both("verdict.ce_nul", line=line), line)
    tree = _parse(text)
    if not tree.body:
        raise CannotJudge(both("verdict.ce_empty"))
    _check_target(exercise, tree)
    return text


def _parse(text: str) -> ast.Module:
    # Python's parser keeps every beginning of the name in `import a.a.a`: 64 kB of it take 1 GB here.
    if any(found.group().count(".") > _LONGEST_DOTTED for found in _DOTTED.finditer(text)):
        raise CannotJudge(both("verdict.ce_nested"))
    try:
        return ast.parse(text, feature_version=_PYTHON)
    except SyntaxError as error:
        line = error.lineno or 1
        raise CannotJudge(both("verdict.ce_syntax", line=line, reason=_reason(error)), line) from None
    except (RecursionError, MemoryError):
        raise CannotJudge(both("verdict.ce_nested")) from None


def _reason(error: SyntaxError) -> Text:
    """Python's own reason; the frequent ones in plain words."""
    said = error.msg
    if said.endswith("was never closed"):
        return both("verdict.syntax_open", bracket=said.split("'")[1])
    if said.startswith("unmatched") or "does not match opening" in said:
        return both("verdict.syntax_unmatched", bracket=said.split("'")[1])
    if said == "expected ':'":
        return both("verdict.syntax_colon")
    if isinstance(error, TabError):
        return both("verdict.syntax_tab")
    if isinstance(error, IndentationError):
        return both("verdict.syntax_indent")
    if said.startswith(("unterminated string", "unterminated triple", "unterminated f-string")):
        return both("verdict.syntax_string")
    if "invalid non-printable character" in said or "invalid character" in said:
        return both("verdict.syntax_character", said=said)
    return both("verdict.syntax_other", said=said)


def _check_target(exercise: Exercise, tree: ast.Module) -> None:
    name = exercise.name
    bound = [node for node in _statements(tree.body) if name in _bound_names(node)]
    if not bound:
        if any(_is_star_import(node) for node in _statements(tree.body)):
            return
        raise CannotJudge(both("verdict.ce_missing", name=name))
    refusals = []
    for node in bound:
        if not isinstance(node, _DEFINITIONS):
            return  # bound by an assignment or an import: the sandbox looks at the object itself
        try:
            return _check_definition(exercise, node)
        except CannotJudge as error:
            refusals.append(error)
    raise refusals[-1]  # which of several counts, only the sandbox can know; none of these would do


def _check_definition(exercise: Exercise, node: _Function | ast.ClassDef) -> None:
    name = exercise.name
    if exercise.kind == "class":
        if not isinstance(node, ast.ClassDef):
            raise CannotJudge(both("verdict.ce_class_due", name=name, line=node.lineno), node.lineno)
        _check_members(exercise, node)
    elif not isinstance(node, ast.FunctionDef):
        raise CannotJudge(both("verdict.ce_function_due", name=name, line=node.lineno), node.lineno)
    else:
        reference = _reference(exercise)
        assert not isinstance(reference, ast.ClassDef)
        _check_signature(node, reference, bound=_is_bound(exercise, reference), own_bound=True)


def _check_members(exercise: Exercise, node: ast.ClassDef) -> None:
    if node.bases:
        return  # may inherit them: the sandbox looks at the object itself
    reference = _reference(exercise)
    assert isinstance(reference, ast.ClassDef)
    due = {f.name: f for f in reference.body if isinstance(f, _Function)}
    wanted = exercise.members or tuple(n for n in due if not n.startswith("_") or n == "__init__")
    own = {f.name: f for f in node.body if isinstance(f, _Function)}
    bound = {name for statement in node.body for name in _bound_names(statement)}
    for member in wanted:
        if member in own:
            _check_signature(
                own[member],
                due[member],
                bound=not _is_static(due[member]),
                own_bound=not _is_static(own[member]),
            )
        elif member not in bound:
            name = f"{exercise.name}.{member}"
            raise CannotJudge(both("verdict.ce_missing", name=name), node.lineno)


def _reference(exercise: Exercise) -> _Function | ast.ClassDef:
    origin = origin_of(exercise)
    return origin.definition(exercise.qualname)


def signature(exercise: Exercise) -> str:
    """How the statement writes the target, for example ``cache_req(self, req, *, finished)``."""
    reference = _reference(exercise)
    return exercise.name if isinstance(reference, ast.ClassDef) else _spelled(reference)


def parameters(exercise: Exercise) -> list[Parameter] | None:
    """What the sandbox compares the function with; None for a class. The name of ``self`` is free."""
    reference = _reference(exercise)
    if isinstance(reference, ast.ClassDef):
        return None
    due = _parameters(reference, _is_bound(exercise, reference))
    found = [Parameter(name, "POSITIONAL_OR_KEYWORD", name in due.optional) for name in due.positional]
    if due.positional[:1] == ["self"]:
        found[0] = Parameter("self", "POSITIONAL_ONLY")
    return found + [Parameter(name, "KEYWORD_ONLY", name in due.optional) for name in due.keyword]


@dataclass(frozen=True)
class _Parameters:
    """The parameters of a function: names by kind, and which of them may be left out."""

    positional: list[str]
    keyword: list[str]
    optional: set[str]
    takes_args: bool
    takes_kwargs: bool


def _is_bound(exercise: Exercise, reference: _Function) -> bool:
    """Whether the target is a method, whose first parameter may have any name."""
    return "." in exercise.qualname and not _is_static(reference)


def _parameters(node: _Function, bound: bool) -> _Parameters:
    given = node.args
    positional = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    optional = set(positional[len(positional) - len(given.defaults) :])
    optional |= {a.arg for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None}
    if bound and positional:
        positional[0] = "self"  # whatever the learner calls it
    keyword = [argument.arg for argument in given.kwonlyargs]
    return _Parameters(positional, keyword, optional, given.vararg is not None, given.kwarg is not None)


def _check_signature(node: _Function, reference: _Function, *, bound: bool, own_bound: bool) -> None:
    """Every call that the statement allows must be possible.

    A method that stands alone in the file is called with its object first, ``@staticmethod`` or not.
    """
    due, own = _parameters(reference, bound), _parameters(node, bound and own_bound)
    names = {*own.positional, *own.keyword}
    fits = own.positional[: len(due.positional)] == due.positional or (
        own.takes_args and due.positional[: len(own.positional)] == own.positional
    )
    fits &= all(name in names or own.takes_kwargs for name in due.keyword)
    extra = [*own.positional[len(due.positional) :], *own.keyword]
    fits &= all(name in own.optional or name in due.keyword for name in extra)
    fits &= all(name in own.optional for name in due.optional if name in names)
    if not fits:
        wanted = _spelled(reference)
        raise CannotJudge(both("verdict.ce_signature", line=node.lineno, wanted=wanted), node.lineno)


def _spelled(reference: _Function) -> str:
    return f"{reference.name}({ast.unparse(_bare(reference))})"


def _bare(reference: _Function) -> ast.arguments:
    """The parameters without annotations, as the message shows them."""
    given = reference.args

    def plain(arguments: list[ast.arg]) -> list[ast.arg]:
        return [ast.arg(argument.arg) for argument in arguments]

    return ast.arguments(
        posonlyargs=plain(given.posonlyargs),
        args=plain(given.args),
        vararg=ast.arg(given.vararg.arg) if given.vararg else None,
        kwonlyargs=plain(given.kwonlyargs),
        kw_defaults=given.kw_defaults,
        kwarg=ast.arg(given.kwarg.arg) if given.kwarg else None,
        defaults=given.defaults,
    )


def _is_static(node: _Function) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module in order, those inside if, try, with and loops included.

    Without recursion: a chain of a thousand ``elif`` is nested a thousand deep.
    """
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, (*_BLOCKS, ast.ExceptHandler)):
            parts = (getattr(node, part, []) for part in ("body", "handlers", "orelse", "finalbody"))
            waiting += reversed([inner for part in parts for inner in part])


def _bound_names(node: ast.stmt) -> set[str]:
    """The names that a statement itself binds."""
    if isinstance(node, _DEFINITIONS):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def _is_star_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
