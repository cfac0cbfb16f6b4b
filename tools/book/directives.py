"""The directives of a chapter source as HTML for the book."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from markupsafe import Markup

from judge.exercise_toml import ExerciseError
from judge.exercises import Exercise, find
from judge.starter import starter
from tools.book.glossary import load_terms
from tools.book.highlight import highlight, keep_blank_lines
from tools.book.manifest import status
from tools.book.page import Page
from tools.book.parts import details, inline, part
from tools.book.site import UP
from tools.book.source import Directive, expand
from tools.book.summary import read_summary

ADMONITIONS = ("note", "tip", "important", "warning")


def render(page: Page, text: str, first_line: int) -> str:
    """`text` with its directives expanded, those inside of others, too.

    Raises:
        SourceError: a directive is unknown or wrong; the text names file and line.
    """
    return expand(text, page.source.path, first_line, lambda directive: _render_one(page, directive))


def find_exercise(page: Page, number: object, directive: Directive) -> Exercise:
    """The exercise of this number.

    Raises:
        SourceError: there is none, or a file of it is wrong.
    """
    try:
        return find(str(number), page.root)
    except KeyError as error:
        raise directive.error(f"no exercise {number}") from error
    except ExerciseError as error:
        raise directive.error(str(error)) from error


def cell_tags(directive: Directive) -> list[str]:
    """The tags of a code cell, `:tags: [a, b]`."""
    return [tag.strip() for tag in directive.options.get("tags", "").strip("[]").split(",") if tag.strip()]


def tree_lines(page: Page, directive: Directive) -> dict[str, str]:
    """Path to description, from the body of a tree.

    Raises:
        SourceError: a path is not in steps.toml, or one that this chapter brings or changes is left out.
    """
    told: dict[str, str] = {}
    for offset, line in enumerate(directive.body.splitlines(), start=1):
        path, _, what = (each.strip() for each in line.partition(":"))
        if path and not status(page.steps, page.chapter, path)[0]:
            raise directive.error(f"steps.toml does not know {path}", offset)
        told[path] = what
    told.pop("", None)
    step = page.steps[page.chapter]
    missing = [path for path in (*step.new, *step.modified) if path not in told]
    if missing:
        raise directive.error(f"not described: {', '.join(missing)}")
    return told


def _render_one(page: Page, directive: Directive) -> str:
    handler = _HANDLERS.get(directive.name)
    if handler is None:
        raise directive.error(f"unknown directive; there are: {', '.join(sorted(_HANDLERS))}")
    return f"\n{handler(page, directive)}\n"


def _include(page: Page, directive: Directive) -> str:
    relative, symbol = page.code(directive)
    reasons = page.reasons(directive, symbol.code)
    marks = {reason.line: number for number, reason in enumerate(reasons, start=1)}
    tag, came = status(page.steps, page.state, relative)
    html = part(
        "block",
        page,
        name=relative,
        code=Markup(highlight(symbol.code, marks)),
        tag=tag,
        came=came,
        link=page.link(relative, symbol.first, symbol.last),
        symbol=symbol,
    )
    if reasons:
        html += "\n" + part("reasons", page, reasons)
    fold = directive.options.get("fold")
    return details("fold", fold, html) if fold else html


def _output(page: Page, directive: Directive) -> str:
    step = page.steps.get(page.state)
    program = step.milestone if step and page.chapter < 0 else step.main if step else ""
    text = page.output(directive, directive.argument)
    return _printed(page, program, text, directive.options.get("fold"))


def _printed(page: Page, name: str, text: str, fold: str | None) -> str:
    html = part("output", page, name=name, text=Markup(keep_blank_lines(escape(text, quote=False))))
    return details("fold reveal", fold, html) if fold else html


def _exercise(page: Page, directive: Directive) -> str:
    exercise = find_exercise(page, directive.argument, directive)
    code = Markup(highlight(starter(exercise, page.lang)))
    return part("exercise", page, exercise, page.runner(exercise.id), directive.body.strip(), code)


def _exercises(page: Page, directive: Directive) -> str:
    found = [find_exercise(page, number, directive) for number in page.source.head["exercises"]]
    return part("exercises", page, [(exercise, page.runner(exercise.id)) for exercise in found])


def _animation(page: Page, directive: Directive) -> str:
    animation = page.animation(directive)
    if animation is None:
        return _figure(page, directive)
    page.figures.append(animation)
    label = page.word("figure", chapter=page.chapter, n=len(page.figures))
    return part("animation", page, animation, UP, label, directive.body.strip())


def _figure(page: Page, directive: Directive) -> str:
    drawn = page.figure(directive)
    page.figures.append(drawn)
    label = page.word("figure", chapter=page.chapter, n=len(page.figures))
    return part("figure", page, drawn, label, directive.body.strip())


def _ask(page: Page, directive: Directive) -> str:
    return _unfold("ask", page, directive)


def _fold(page: Page, directive: Directive) -> str:
    return _unfold("fold", page, directive)


def _unfold(css: str, page: Page, directive: Directive) -> str:
    if not directive.argument or not directive.body.strip():
        raise directive.error("the question or title stands after the name, what to unfold inside")
    if "](" in directive.argument:  # what is pressed to unfold is a control; none may stand in another
        raise directive.error("a link cannot stand in the question or title; put it inside")
    return details(css, directive.argument, render(page, directive.body, directive.body_line))


def _predict(page: Page, directive: Directive) -> str:
    answer = directive.options.get("answer")
    if not answer or not directive.argument:
        raise directive.error("the question stands after the name, the answer in the option :answer:")
    return part("predict", page, f"predict-{directive.line}", directive.argument, answer)


def _admonition(page: Page, directive: Directive) -> str:
    body = render(page, directive.body, directive.body_line)
    title = inline(directive.argument or page.word(directive.name))
    return f'<aside class="note {directive.name}">\n<p class="n-head">{title}</p>\n\n{body}\n\n</aside>'


def _tree(page: Page, directive: Directive) -> str:
    told = tree_lines(page, directive)
    rows: list[dict[str, Any]] = []
    folders: list[str] = []
    for path in sorted(told, key=lambda each: each.split("/")):
        *parents, name = path.split("/")
        for depth, folder in enumerate(parents):
            if parents[: depth + 1] != folders[: depth + 1]:
                rows.append({"folder": True, "depth": depth, "name": folder})
        folders = parents
        tag, came = status(page.steps, page.chapter, path)
        rows.append({"depth": len(parents), "name": name, "what": told[path], "tag": tag, "came": came})
        rows[-1]["folder"] = False
    return part("tree", page, rows)


def _chapters(page: Page, directive: Directive) -> str:
    """The chapters that there are: one more is one more line of SUMMARY.md."""
    entries = [entry for entry in read_summary(page.root, page.lang) if entry.chapter >= 0]
    return part("chapters", page, [(entry, page.runner) for entry in entries])


def _glossary(page: Page, directive: Directive) -> str:
    entries = read_summary(page.root, page.lang)
    pages = {entry.chapter: entry.page for entry in entries if entry.chapter >= 0}
    terms = load_terms(page.root)
    if page.lang == "en":
        terms.sort(key=lambda term: term.name["en"].lower())
    other = "en" if page.lang == "zh" else "zh"
    return part("glossary", page, terms, other, pages)


def _code_cell(page: Page, directive: Directive) -> str:
    tags = cell_tags(directive)
    if "remove-cell" in tags:
        return ""
    html = part("block", page, name=page.word("try_it"), code=Markup(highlight(directive.body)))
    name = directive.options.get("name")
    if name is None:
        return html
    text = page.output(directive, f"ch{page.chapter:02d}.{name}")
    fold = page.word("show_output") if "hide-output" in tags else None
    return f"{html}\n{_printed(page, '', text, fold)}"


_HANDLERS: dict[str, Callable[[Page, Directive], str]] = {
    "include": _include,
    "output": _output,
    "exercise": _exercise,
    "exercises": _exercises,
    "animation": _animation,
    "figure": _figure,
    "chapters": _chapters,
    "glossary": _glossary,
    "selftest": _ask,
    "fold": _fold,
    "predict": _predict,
    "tree": _tree,
    "code-cell": _code_cell,
    **dict.fromkeys(ADMONITIONS, _admonition),
}
