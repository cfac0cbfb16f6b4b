"""`%%judge 192` where Python runs in the browser: the public samples, in the notebook's own Python.

The hidden tests need the judge's sandbox, which no browser has; what is missing is said below the result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.display import display
from judge_runner import samples

from judge.exercises import Exercise
from judge.i18n import t
from judge.notebook.card import RIGHT, WRONG, card
from judge.notebook.line import asked

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_INTERFACES = Path(__file__).with_name("interfaces.json")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by `%load_ext judge.notebook`: adds the cell magic."""
    shell.register_magics(JudgeMagic)


class Outcome:
    """The samples of one cell: text, and HTML where it can be shown."""

    def __init__(self, one: Exercise, report: dict[str, Any], lang: str) -> None:
        self._one, self.report, self._lang = one, report, lang
        results = report["results"]
        self.ok = bool(results) and all(each["ok"] for each in results) and not report["stopped"]

    def __repr__(self) -> str:
        return "\n".join([f"{self._one.id} {self._one.name} · {self._one.title[self._lang]}", *self._lines()])

    def _repr_html_(self) -> str:
        label = t("notebook.samples_here", self._lang)
        colour = RIGHT if self.ok else WRONG
        return card(self._one, self._lang, label=label, colour=colour, text="\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        lang, report = self._lang, self.report
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
        yield t("notebook.only_samples", lang, id=self._one.id)

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
        told = asked(line)
        if told is None:
            return
        one, _, lang = told
        if one.browser == "server":
            print(t("notebook.not_here", lang, id=one.id))
        else:
            printed: list[str] = []
            report = samples.run(
                {"code": cell, "exercise": _for_the_runner(one)},
                lambda kind, value: printed.append(value) if kind == "output" else None,
            )
            print("".join(printed), end="")
            display(Outcome(one, report, lang))
            if report["cannot"]:
                return
        if self.shell is not None:
            self.shell.run_cell(cell)


def _for_the_runner(one: Exercise) -> dict[str, Any]:
    interfaces: dict[str, str] = json.loads(_INTERFACES.read_text(encoding="utf-8"))
    return {
        "interface": interfaces[str(one.id)],
        "target": one.target,
        "members": one.members,
        "samples": one.samples,
    }
