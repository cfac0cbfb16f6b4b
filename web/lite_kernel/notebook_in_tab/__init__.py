"""`%%judge 192` where Python runs in the browser: the public samples, in the notebook's own Python.

The hidden tests need the judge's sandbox, which no browser has; what is missing is said below the result.
"""

from __future__ import annotations

import html
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.display import display
from judge_runner import samples

from judge.i18n import LANGS, t

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_EXERCISES = Path(__file__).with_name("exercises.json")
_OPTIONS = {"--no-engine", "--samples"}


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by `%load_ext judge.notebook`: adds the cell magic."""
    shell.register_magics(JudgeMagic)


def parse_line(line: str) -> tuple[str, str]:
    """Exercise and language of the magic's line. Raises ValueError, whose text shows the right form."""
    words, lang = shlex.split(line), "en"
    if "--lang" in words:
        at = words.index("--lang")
        value = words[at + 1] if at + 1 < len(words) else ""
        del words[at : at + 2]
        if value not in LANGS:
            raise ValueError(t("notebook.usage", lang))
        lang = value
    names = [word for word in words if word not in _OPTIONS]
    if len(names) != 1 or names[0].startswith("-"):
        raise ValueError(t("notebook.usage", lang))
    return names[0], lang


def exercise(name: str) -> dict[str, Any]:
    """What the samples need to know of the exercise called `192`, `cache_req` or `192_cache_req`.

    Raises:
        KeyError: there is none; the argument is the numbers that there are.
    """
    every: list[dict[str, Any]] = json.loads(_EXERCISES.read_text(encoding="utf-8"))
    for one in every:
        if name in (str(one["id"]), one["slug"], f"{one['id']}_{one['slug']}"):
            return one
    raise KeyError(", ".join(str(one["id"]) for one in every))


class Outcome:
    """The samples of one cell: text, and HTML where it can be shown."""

    def __init__(self, one: dict[str, Any], report: dict[str, Any], lang: str) -> None:
        self._one, self.report, self._lang = one, report, lang
        results = report["results"]
        self.ok = bool(results) and all(each["ok"] for each in results) and not report["stopped"]

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        colour = "#0A6656" if self.ok else "#AD3410"
        label = html.escape(t("notebook.samples_here", self._lang))
        return (
            f'<section lang="{self._lang}" aria-label="{label}" '
            f'style="border-top:3px solid {colour};padding:8px 0;max-width:672px">'
            f'<pre style="white-space:pre-wrap;margin:0">{html.escape(repr(self))}</pre></section>'
        )

    def _lines(self) -> Iterator[str]:
        lang, one, report = self._lang, self._one, self.report
        yield f"{one['id']} {one['slug']} · {one['title'][lang]}"
        if report["cannot"]:
            line = report["cannot"]["line"]
            where = t("notebook.line", lang, line=line) if line else ""
            yield f"  ✗ {where}{report['cannot']['message'][lang]}"
        for each in report["results"]:
            yield f"  {'✓' if each['ok'] else '✗'} {each['title'][lang]}"
            yield from () if each["ok"] else self._why(each)
        if report["stopped"]:
            yield f"  ✗ {t('notebook.stopped', lang)}"
        yield ""
        yield t("notebook.only_samples", lang, id=one["id"])

    def _why(self, each: dict[str, Any]) -> Iterator[str]:
        lang = self._lang
        if each["message"]:
            yield f"      {each['message'][lang]}"
        for name in ("assertion", "expected", "got"):
            if each[name]:
                yield f"      {t(f'cli.sample_{name}', lang)}: {each[name]}"


@magics_class
class JudgeMagic(Magics):
    """The cell magic of `judge.notebook`, as far as a browser can go."""

    @cell_magic
    def judge(self, line: str, cell: str) -> None:
        """Run the public samples on the cell's function, then the cell itself."""
        self._samples(line, cell)

    @cell_magic
    def exercise(self, line: str, cell: str) -> None:
        """The same: of the panel's buttons a browser could serve the samples alone."""
        self._samples(line, cell)

    def _samples(self, line: str, cell: str) -> None:
        try:
            name, lang = parse_line(line)
        except ValueError as error:
            print(error)
            return
        try:
            one = exercise(name)
        except KeyError as error:
            print(t("cli.no_such_exercise", "en", name=name[:80], numbers=error.args[0]))
            return
        if one["samples"] is None:
            print(t("notebook.not_here", lang, id=one["id"]))
        else:
            printed: list[str] = []
            report = samples.run(
                {"code": cell, "exercise": one},
                lambda kind, value: printed.append(value) if kind == "output" else None,
            )
            print("".join(printed), end="")
            display(Outcome(one, report, lang))
            if report["cannot"]:
                return
        if self.shell is not None:
            self.shell.run_cell(cell)
