"""The directives of a chapter source as HTML for the book."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from judge.exercise_toml import ExerciseError
from judge.exercises import Exercise, find
from tools.book.highlight import highlight, keep_blank_lines
from tools.book.manifest import status
from tools.book.page import Page, attribute, icon, inline
from tools.book.source import Directive, expand

ADMONITIONS = ("note", "tip", "important", "warning")


def render(page: Page, text: str, first_line: int) -> str:
    """`text` with its directives expanded, those inside of others, too.

    Raises:
        SourceError: a directive is unknown or wrong; the text names file and line.
    """
    return expand(text, page.source.path, first_line, lambda directive: _render_one(page, directive))


def _render_one(page: Page, directive: Directive) -> str:
    handler = _HANDLERS.get(directive.name)
    if handler is None:
        raise directive.error(f"unknown directive; there are: {', '.join(sorted(_HANDLERS))}")
    return "\n" + handler(page, directive) + "\n"


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


def _include(page: Page, directive: Directive) -> str:
    relative, symbol = page.code(directive)
    reasons = page.reasons(directive, symbol.code)
    marks = {reason.line: number for number, reason in enumerate(reasons, start=1)}
    tag, came = status(page.steps, page.chapter, relative)
    words = page.word(f"tag_{tag}", chapter=came) if tag else ""
    block = _code_block(
        page,
        name=relative,
        body=highlight(symbol.code, marks),
        extra=f'<span class="b-tag {tag}">{words}</span>'
        f'<a class="b-lines" href="{attribute(page.link(relative, symbol.first, symbol.last))}">'
        f"{page.word('lines', first=symbol.first, last=symbol.last)}</a>",
    )
    why = "".join(f"<li>{inline(reason.text)}</li>" for reason in reasons)
    html = block + (f'\n<ol class="reasons">{why}</ol>' if why else "")
    fold = directive.options.get("fold")
    return _details("fold", fold, html) if fold else html


def _code_block(page: Page, name: str, body: str, extra: str = "") -> str:
    return (
        f'<figure class="block"><figcaption class="b-head"><span class="b-file">{icon("file")}{escape(name)}</span>'
        f'{extra}<button class="btn plain b-copy" type="button" data-done="{page.word("copied")}">{icon("copy")}'
        f"<span>{page.word('copy')}</span></button></figcaption>"
        f'<pre class="code" tabindex="0" role="region" aria-label="{attribute(name)}"><code>{body}</code></pre></figure>'
    )


def _details(css: str, title: str, body: str) -> str:
    return f'<details class="{css}"><summary><span>{inline(title)}</span></summary>\n\n{body}\n\n</details>'


def _output(page: Page, directive: Directive) -> str:
    text = page.output(directive, directive.argument)
    if "lines" in directive.options:
        first, _, last = directive.options["lines"].partition("-")
        text = "\n".join(text.splitlines()[int(first) - 1 : int(last or first)])
    step = page.steps.get(page.chapter)
    name = directive.options.get("of") or (step.main if step else directive.argument)
    return _printed(page, name, text, directive.options.get("fold"))


def _printed(page: Page, name: str, text: str, fold: str | None = None) -> str:
    said = f"{page.word('output')} <span class='mono'>{escape(name)}</span>" if name else page.word("output")
    html = (
        f'<figure class="output"><figcaption class="o-head">{said}</figcaption>'
        f'<pre tabindex="0" role="region" aria-label="{page.word("output")}">'
        f"{keep_blank_lines(escape(text, quote=False))}</pre></figure>"
    )
    return _details("fold reveal", fold, html) if fold else html


def _exercise(page: Page, directive: Directive) -> str:
    exercise = find_exercise(page, directive.argument, directive)
    address = page.site.runner.format(lang=page.lang, id=exercise.id)
    level = page.word(f"level_{exercise.level}")
    return (
        f'<section class="inline-ex" id="ex-{exercise.id}" aria-labelledby="ex-{exercise.id}-h"><header>'
        f'<p class="ie-no"><span class="num">{exercise.id}</span></p><div>'
        f'<h3 id="ex-{exercise.id}-h">{escape(exercise.title[page.lang])}</h3>'
        f'<p class="small mono">{escape(exercise.qualname)}</p></div>'
        f'<p class="ie-st small">{level} · {page.word("points", n=exercise.points)}</p></header>'
        f'<div class="ie-what">{inline(directive.body.strip())}</div>'
        f'<footer><a class="btn main" href="{attribute(address)}">{page.word("open_runner")}{icon("right")}</a>'
        f"<span class='small'>{page.word('or_run')} <code>python practice/judge.py {exercise.id}</code></span>"
        "</footer></section>"
    )


def _exercises(page: Page, directive: Directive) -> str:
    rows = []
    for number in page.source.head["exercises"]:
        exercise = find_exercise(page, number, directive)
        address = page.site.runner.format(lang=page.lang, id=number)
        rows.append(
            f'<tr><td class="num"><a href="#ex-{number}">{number}</a></td><td>{escape(exercise.title[page.lang])}</td>'
            f"<td><code>{escape(exercise.qualname)}</code></td><td>{page.word(f'level_{exercise.level}')}</td>"
            f'<td class="num">{exercise.points}</td><td><a href="{attribute(address)}">{page.word("open")}</a></td></tr>'
        )
    heads = "".join(
        f"<th>{page.word(f'exercise_{key}')}</th>" for key in ("number", "title", "function", "level", "points", "runner")
    )
    return f'<div class="table-wrapper"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _figure(page: Page, directive: Directive) -> str:
    drawn = page.figure(directive)
    number = len([each for each in page.used if each.startswith("figure ")]) + 1
    page.used.add(f"figure {directive.argument}")
    label = page.word("figure", chapter=page.chapter, n=number)
    return (
        f'<figure class="drawing" id="fig-{directive.argument}">{drawn.svg}\n'
        f"<figcaption><b>{label}</b> {inline(directive.body.strip())}</figcaption></figure>"
    )


def _ask(page: Page, directive: Directive) -> str:
    if not directive.argument or not directive.body.strip():
        raise directive.error("a question stands after the name, its answer inside")
    return _details("ask", directive.argument, render(page, directive.body, directive.body_line))


def _fold(page: Page, directive: Directive) -> str:
    if not directive.argument:
        raise directive.error("what to unfold stands after the name")
    return _details("fold", directive.argument, render(page, directive.body, directive.body_line))


def _predict(page: Page, directive: Directive) -> str:
    answer = directive.options.get("answer")
    if not answer:
        raise directive.error("the option :answer: is missing")
    field = f"predict-{directive.line}"
    right = page.word("predict_right", answer=answer)
    other = page.word("predict_other", answer=answer, guess="{guess}")  # the script fills in what was typed
    return (
        f'<form class="predict" data-answer="{attribute(answer)}" data-right="{attribute(right)}" '
        f'data-other="{attribute(other)}"><label for="{field}"><b>{page.word("predict")}</b> '
        f'{inline(directive.argument)}</label><span class="p-in"><input id="{field}" class="num" '
        f'autocomplete="off" inputmode="numeric"><button class="btn" type="submit">{icon("play")}'
        f'{page.word("compare")}</button><span class="p-said" role="status"></span></span></form>'
    )


def _admonition(page: Page, directive: Directive) -> str:
    body = render(page, directive.body, directive.body_line)
    title = directive.argument or page.word(directive.name)
    return f'<aside class="note {directive.name}">\n<p class="n-head">{inline(title)}</p>\n\n{body}\n\n</aside>'


def _tree(page: Page, directive: Directive) -> str:
    told: dict[str, str] = {}
    for offset, line in enumerate(directive.body.splitlines(), start=1):
        if line.strip():
            path, _, what = line.partition(":")
            if not status(page.steps, page.chapter, path.strip())[0]:
                raise directive.error(f"steps.toml does not know {path.strip()}", offset)
            told[path.strip()] = what.strip()
    step = page.steps[page.chapter]
    missing = [path for path in (*step.new, *step.modified) if path not in told]
    if missing:
        raise directive.error(f"not described: {', '.join(missing)}")
    rows: list[str] = []
    folders: tuple[str, ...] = ()
    for path in sorted(told, key=lambda each: each.split("/")):
        parents = tuple(path.split("/")[:-1])
        for depth, name in enumerate(parents):
            if parents[: depth + 1] != folders[: depth + 1]:
                rows.append(
                    f'<li style="--d:{depth}" class="d"><span class="t-name">{icon("folder")}{name}/</span></li>'
                )
        folders = parents
        tag, came = status(page.steps, page.chapter, path)
        rows.append(
            f'<li style="--d:{len(parents)}" class="f {tag}"><span class="t-name">{icon("file")}'
            f'{path.rpartition("/")[2]}</span><span class="t-what">{inline(told[path])}</span>'
            f'<span class="t-tag">{page.word(f"tag_{tag}", chapter=came)}</span></li>'
        )
    return f'<ul class="tree">{"".join(rows)}</ul>'


def _code_cell(page: Page, directive: Directive) -> str:
    tags = cell_tags(directive)
    if "remove-cell" in tags:
        return ""
    html = _code_block(page, page.word("try_it"), highlight(directive.body))
    name = directive.options.get("name")
    if name is None:
        return html
    text = page.output(directive, f"ch{page.chapter:02d}.{name}")
    fold = page.word("show_output") if "hide-output" in tags else None
    return html + "\n" + _printed(page, "", text, fold)


def cell_tags(directive: Directive) -> list[str]:
    """The tags of a code cell, `:tags: [a, b]`."""
    return [tag.strip() for tag in directive.options.get("tags", "").strip("[]").split(",") if tag.strip()]


_HANDLERS: dict[str, Callable[[Page, Directive], str]] = {
    "include": _include,
    "output": _output,
    "exercise": _exercise,
    "exercises": _exercises,
    "animation": _figure,
    "figure": _figure,
    "selftest": _ask,
    "fold": _fold,
    "predict": _predict,
    "tree": _tree,
    "code-cell": _code_cell,
    **dict.fromkeys(ADMONITIONS, _admonition),
}
