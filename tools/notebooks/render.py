"""The directives of a chapter source as MyST notebook text: Markdown, and `{code-cell}` where code is to run.

jupytext turns the result into cells. An exercise becomes four of them: the skeleton under `%%judge N`, a free
cell, the public samples, each in the order in which a learner needs them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from judge.exercises import Exercise, find
from judge.solution import solution_text
from judge.starter import starter
from tools.book.directives import ADMONITIONS, cell_tags, find_exercise, tree_lines
from tools.book.figures import Figure
from tools.book.manifest import status
from tools.book.page import Page
from tools.book.source import Directive, Source, code_lines, expand

_PASSED = '    print(sample.__name__, "passed")'
_LABEL = re.compile(r"^\([a-z][a-z0-9-]*\)=\n", re.M)
_TO_SITE = re.compile(r"\]\((?:exercise:(?P<id>\d+)|site:[^)\s]*|repo:(?P<file>[^)\s]*))\)")


@dataclass
class Sheet:
    """One notebook in the making; `figures` collects those that its Markdown shows."""

    page: Page
    solved: bool
    figures: dict[str, Figure] = field(default_factory=dict)

    def text(self) -> str:
        """The whole notebook as MyST text, front matter excepted.

        Raises:
            SourceError: a directive is unknown or wrong.
        """
        source = self.page.source
        body = self._expand(_LABEL.sub("", self._to_files(source)), source.first_line)
        return f"{self._head()}\n\n{_cell('%load_ext judge.notebook', 'remove-cell')}\n\n{body}"

    def _to_files(self, source: Source) -> str:
        """Links to the site as links to files: a notebook is read in the repository."""

        def file(found: re.Match[str]) -> str:
            if found["file"]:
                return f"]({self.page.link(found['file'])})"
            if not found["id"]:
                return "](../../README.md)"
            exercise = find(found["id"], self.page.root)
            return f"](../exercises/{exercise.key}/{self.page.lang}.md)"

        code = code_lines(source)
        lines = source.text.split("\n")
        return "\n".join(
            line if number in code else _TO_SITE.sub(file, line) for number, line in enumerate(lines)
        )

    def _expand(self, text: str, first_line: int) -> str:
        return expand(text, self.page.source.path, first_line, self._render)

    def _render(self, directive: Directive) -> str:
        handler = _HANDLERS.get(directive.name)
        if handler is None:
            raise directive.error(f"unknown directive; there are: {', '.join(sorted(_HANDLERS))}")
        return "\n" + handler(self, directive) + "\n"

    def _head(self) -> str:
        head, word = self.page.source.head, self.page.word
        facts = [
            f"- {word('fact_time')}: {word('minutes', n=head['minutes'])}",
            f"- {word('fact_needs')}: {head['needs']}",
            f"- {word('fact_exercises')}: {', '.join(map(str, head['exercises']))}",
        ]
        return "\n\n".join([f"# {self.page.chapter} {head['title']}", head["lead"], "\n".join(facts)])

    def include(self, directive: Directive) -> str:
        relative, symbol = self.page.code(directive)
        reasons = self.page.reasons(directive, symbol.code)
        where = f"`{relative}` {self.page.word('lines', first=symbol.first, last=symbol.last)}"
        if "exercise" in directive.options and not self.solved:
            link = self.page.link(relative, symbol.first, symbol.last)
            return f"{directive.options['fold']}: [{where}]({link})"
        why = "\n".join(f"{n}. `{reason.snippet}` {reason.text}" for n, reason in enumerate(reasons, start=1))
        return f"{where}\n\n```python\n{symbol.code}```\n\n{why}"

    def output(self, directive: Directive) -> str:
        main = self.page.steps[self.page.chapter].main
        return _cell(
            "import runpy\nfrom pathlib import Path\n\nimport minisgl\n\n"
            "ROOT = Path(minisgl.__file__).parents[1]\n"
            f'_ = runpy.run_path(str(ROOT / "{main}"), run_name="__main__")',
        )

    def exercise(self, directive: Directive) -> str:
        exercise = find_exercise(self.page, directive.argument, directive)
        lang, word = self.page.lang, self.page.word
        body = solution_text(exercise) if self.solved else starter(exercise, lang)
        points = word("points", n=exercise.points)
        told = f"**{exercise.id} {exercise.title[lang]}** · `{exercise.qualname}` · {points}"
        return "\n\n".join(
            [
                f"{told}\n\n{directive.body.strip()}\n\n{word('notebook_write')}",
                _cell(f"%%judge {exercise.id} --lang {lang}\n{body}", f"exercise-{exercise.id}"),
                word("notebook_free"),
                _cell("", "free"),
                word("notebook_samples"),
                _cell(_samples(exercise), f"samples-{exercise.id}"),
            ]
        )

    def exercises(self, directive: Directive) -> str:
        rows = []
        for number in self.page.source.head["exercises"]:
            exercise = find_exercise(self.page, number, directive)
            rows.append(f"- **{number}** {exercise.title[self.page.lang]}, `{exercise.qualname}`")
        return "\n".join(rows)

    def animation(self, directive: Directive) -> str:
        """A cell that plays it, below what it shows in words."""
        animation = self.page.animation(directive)
        if animation is None:
            return self.figure(directive)
        self.page.figures.append(animation)
        label = self.page.word("figure", chapter=self.page.chapter, n=len(self.page.figures))
        told = f"**{label} {animation.title}** {animation.alt} {directive.body.strip()}"
        trace = (
            ""
            if animation.trace == animation.name
            else f', trace="../../animations/traces/{animation.trace}.jsonl"'
        )
        play = f'show_animation("{animation.name}"{trace}, lang="{self.page.lang}")'
        code = f"from judge.notebook.animation import show_animation\n\n{play}"
        return f"{told}\n\n{_cell(code, 'animation')}"

    def figure(self, directive: Directive) -> str:
        drawn = self.page.figure(directive)
        self.figures[drawn.name] = drawn
        self.page.figures.append(drawn)
        label = self.page.word("figure", chapter=self.page.chapter, n=len(self.page.figures))
        return f"![{drawn.alt}](figure:{drawn.name})\n\n**{label}** {directive.body.strip()}"

    def unfold(self, directive: Directive) -> str:
        body = self._expand(directive.body, directive.body_line).strip()
        return f"<details><summary>{directive.argument}</summary>\n\n{body}\n\n</details>"

    def predict(self, directive: Directive) -> str:
        return f"**{self.page.word('predict')}** {directive.argument}"

    def admonition(self, directive: Directive) -> str:
        title = directive.argument or self.page.word(directive.name)
        body = self._expand(directive.body, directive.body_line).strip()
        return "\n".join(f"> {line}".rstrip() for line in [f"**{title}**", "", *body.splitlines()])

    def tree(self, directive: Directive) -> str:
        rows = []
        for path, what in tree_lines(self.page, directive).items():
            tag, came = status(self.page.steps, self.page.chapter, path)
            rows.append(f"- `{path}` {what} · {self.page.word(f'tag_{tag}', chapter=came)}")
        return "\n".join(rows)

    def code_cell(self, directive: Directive) -> str:
        tags = [tag for tag in cell_tags(directive) if tag not in ("remove-cell", "hide-output")]
        return _cell(directive.body, *tags)


def _cell(code: str, *tags: str) -> str:
    options = f":tags: [{', '.join(tags)}]\n\n" if tags else ""
    return f"```{{code-cell}} ipython3\n{options}{code.rstrip()}\n```"


def _samples(exercise: Exercise) -> str:
    """The public samples and a loop over them: the first that fails raises."""
    tree = ast.parse(exercise.samples)
    names = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
    listed = [f"    {name}," for name in names]
    loop = ["for sample in (", *listed, "):", f"    sample({exercise.name})", _PASSED]
    return "\n".join([exercise.samples.rstrip(), "", "", *loop])


_HANDLERS: dict[str, Callable[[Sheet, Directive], str]] = {
    "include": Sheet.include,
    "output": Sheet.output,
    "exercise": Sheet.exercise,
    "exercises": Sheet.exercises,
    "animation": Sheet.animation,
    "figure": Sheet.figure,
    "selftest": Sheet.unfold,
    "fold": Sheet.unfold,
    "predict": Sheet.predict,
    "tree": Sheet.tree,
    "code-cell": Sheet.code_cell,
    **dict.fromkeys(ADMONITIONS, Sheet.admonition),
}
