"""Parse a submitted module, and check that it defines the target.

Standard library only: the browser runs this file, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from judge.i18n import both

if TYPE_CHECKING:
    from judge.types import Text

_PYTHON = (3, 11)
Function = ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)
_NAME = r"[\w\x80-\U0010ffff]"
_DOTTED = re.compile(rf"(?<!{_NAME})(?:{_NAME}++[ \t\f\\\n]*+\.[ \t\f\\\n]*+)++")
_LONGEST_DOTTED = 500


class CannotJudge(Exception):
    """The file cannot be judged (verdict CE). ``text`` is the whole message, ``line`` where it is known.

    ``kind``: syntax, missing_name, wrong_kind, wrong_signature or empty.
    """

    def __init__(self, text: Text, line: int | None = None, *, kind: str = "syntax") -> None:
        super().__init__(text["en"])
        self.text, self.line, self.kind = text, line, kind
        self.column: int | None = None


@dataclass(frozen=True)
class Due:
    """What a file has to define: its name, and the definition whose calls it has to take.

    ``members``: the methods that a class needs; empty stands for the public ones. ``bound``: the function is
    a method, whose first parameter may have any name.
    """

    name: str
    reference: Function | ast.ClassDef
    members: tuple[str, ...] = ()
    bound: bool = False


def due_in(interface: str, target: str, members: tuple[str, ...] = ()) -> Due:
    """What the text of ``interface`` (see ``judge.source``) stands for; ``target`` as in exercise.toml."""
    reference = ast.parse(interface).body[0]
    assert isinstance(reference, _DEFINITIONS)
    bound = "." in target.rpartition(":")[2] and not is_static(reference)
    return Due(reference.name, reference, members, bound)


def clean(text: str) -> str:
    """The text with ``\\n`` line ends. Raises CannotJudge for a NUL."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise CannotJudge(both("verdict.ce_nul", line=line), line)
    return text


def parse(text: str) -> ast.Module:
    """The module, parsed with the grammar of Python 3.11. Raises CannotJudge, for an empty one, too."""
    tree = _parsed(text)
    if not tree.body:
        raise CannotJudge(both("verdict.ce_empty"), kind="empty")
    return tree


def _parsed(text: str) -> ast.Module:
    # Python's parser keeps every beginning of the name in `import a.a.a`: 64 kB of it take 1 GB here.
    if any(found.group().count(".") > _LONGEST_DOTTED for found in _DOTTED.finditer(text)):
        raise CannotJudge(both("verdict.ce_nested"))
    try:
        return ast.parse(text, feature_version=_PYTHON)
    except SyntaxError as error:
        line = error.lineno or 1
        refused = CannotJudge(both("verdict.ce_syntax", line=line, reason=_reason(error)), line)
        refused.column = error.offset or None
        raise refused from None
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


def check_target(due: Due, tree: ast.Module) -> None:
    """Raises CannotJudge when the module cannot define the target as it is due."""
    name = due.name
    bound = [node for node in _statements(tree.body) if name in _bound_names(node)]
    if not bound:
        if any(_is_star_import(node) for node in _statements(tree.body)):
            return
        raise CannotJudge(both("verdict.ce_missing", name=name), kind="missing_name")
    refusals = []
    for node in bound:
        if not isinstance(node, _DEFINITIONS):
            return  # bound by an assignment or an import: the sandbox looks at the object itself
        try:
            return _check_definition(due, node)
        except CannotJudge as error:
            refusals.append(error)
    raise refusals[-1]  # which of several counts, only the sandbox can know; none of these would do


def _check_definition(due: Due, node: Function | ast.ClassDef) -> None:
    name, reference = due.name, due.reference
    if isinstance(reference, ast.ClassDef):
        if not isinstance(node, ast.ClassDef):
            text = both("verdict.ce_class_due", name=name, line=node.lineno)
            raise CannotJudge(text, node.lineno, kind="wrong_kind")
        _check_members(due, reference, node)
    elif not isinstance(node, ast.FunctionDef):
        text = both("verdict.ce_function_due", name=name, line=node.lineno)
        raise CannotJudge(text, node.lineno, kind="wrong_kind")
    else:
        _check_signature(node, reference, bound=due.bound, own_bound=True)


def _check_members(due: Due, reference: ast.ClassDef, node: ast.ClassDef) -> None:
    if node.bases:
        return  # may inherit them: the sandbox looks at the object itself
    methods = {f.name: f for f in reference.body if isinstance(f, Function)}
    wanted = due.members or tuple(n for n in methods if not n.startswith("_") or n == "__init__")
    own = {f.name: f for f in node.body if isinstance(f, Function)}
    bound = {name for statement in node.body for name in _bound_names(statement)}
    for member in wanted:
        if member in own:
            _check_signature(
                own[member],
                methods[member],
                bound=not is_static(methods[member]),
                own_bound=not is_static(own[member]),
            )
        elif member not in bound:
            name = f"{due.name}.{member}"
            raise CannotJudge(both("verdict.ce_missing", name=name), node.lineno, kind="missing_name")


@dataclass(frozen=True)
class Parameters:
    """The parameters of a function: names by kind, and which of them may be left out."""

    positional: list[str]
    keyword: list[str]
    optional: set[str]
    takes_args: bool
    takes_kwargs: bool


def parameters_of(node: Function, bound: bool) -> Parameters:
    """Of a method the first is called ``self`` here."""
    given = node.args
    positional = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    optional = set(positional[len(positional) - len(given.defaults) :])
    optional |= {a.arg for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None}
    if bound and positional:
        positional[0] = "self"  # whatever the learner calls it
    keyword = [argument.arg for argument in given.kwonlyargs]
    return Parameters(positional, keyword, optional, given.vararg is not None, given.kwarg is not None)


def _check_signature(node: Function, reference: Function, *, bound: bool, own_bound: bool) -> None:
    """Every call that the statement allows must be possible.

    A method that stands alone in the file is called with its object first, ``@staticmethod`` or not.
    """
    due, own = parameters_of(reference, bound), parameters_of(node, bound and own_bound)
    names = {*own.positional, *own.keyword}
    fits = own.positional[: len(due.positional)] == due.positional or (
        own.takes_args and due.positional[: len(own.positional)] == own.positional
    )
    fits &= all(name in names or own.takes_kwargs for name in due.keyword)
    extra = [*own.positional[len(due.positional) :], *own.keyword]
    fits &= all(name in own.optional or name in due.keyword for name in extra)
    fits &= all(name in own.optional for name in due.optional if name in names)
    if not fits:
        text = both("verdict.ce_signature", line=node.lineno, wanted=spelled(reference))
        raise CannotJudge(text, node.lineno, kind="wrong_signature")


def spelled(reference: Function) -> str:
    """How the statement writes a function: ``cache_req(self, req, *, finished)``."""
    return f"{reference.name}({ast.unparse(bare(reference))})"


def bare(reference: Function) -> ast.arguments:
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


def is_static(node: Function | ast.ClassDef) -> bool:
    """Whether it is marked as a static method."""
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
