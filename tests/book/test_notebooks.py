"""Notebooks: what is committed is what the sources say, and it runs as far as it should."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from judge.exercises import find
from tools.book.page import ROOT, Site
from tools.notebooks.build import make, sources

GRADED = ("192", "193")

SITE = Site("", "/{lang}/exercises/{id}")


def notebook(lang: str, *, solved: bool) -> Any:
    relative = next(path for each, path in sources() if each == lang)
    return nbformat.reads(make(relative, lang, SITE, solved=solved), as_version=4)


def execute(notebook: Any, lang: str) -> None:
    """Run every cell in the folder where a learner opens the notebook, whatever fails."""
    resources = {"metadata": {"path": str(ROOT / "chapters" / lang)}}
    NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources=resources, allow_errors=True
    ).execute()


def failed(notebook: Any) -> dict[str, str]:
    """Tag of each cell that raised, and the exception's name."""
    return {
        (cell.metadata.get("tags") or [cell.id])[0]: output.ename
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    }


def verdicts(notebook: Any) -> list[str]:
    """What the judge's cells displayed."""
    return [
        output.data["text/plain"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "display_data"
    ]


@pytest.mark.parametrize(("lang", "relative"), sources())
def test_committed_notebooks_are_what_their_sources_say(lang: str, relative: Any) -> None:
    committed = (ROOT / relative.with_suffix(".ipynb")).read_text(encoding="utf-8")
    assert committed == make(relative, lang, SITE, solved=False), "run: make notebooks"


def test_both_languages_have_the_same_cells() -> None:
    zh, en = notebook("zh", solved=False), notebook("en", solved=False)
    assert [shape(cell) for cell in zh.cells] == [shape(cell) for cell in en.cells]


def shape(cell: Any) -> tuple[Any, ...]:
    headings = [line.split(" ")[0] for line in cell.source.splitlines() if line.startswith("#")]
    is_code = cell.cell_type == "code"
    return (
        cell.cell_type,
        cell.metadata.get("tags"),
        None if is_code else headings,
        sorted(cell.get("attachments", {})),
    )


def test_cells_come_in_the_order_in_which_a_learner_needs_them() -> None:
    tags = [cell.metadata.get("tags", [""])[0] for cell in notebook("zh", solved=False).cells]
    places = [
        tags.index(tag)
        for tag in ("exercise-192", "free", "samples-192", "exercise-193", "samples-193", "payoff")
    ]
    assert places == sorted(places)


def test_the_learners_notebook_holds_no_solution_and_no_output() -> None:
    for lang in ("zh", "en"):
        cells = notebook(lang, solved=False).cells
        for number in GRADED:
            skeleton = next(c.source for c in cells if f"exercise-{number}" in c.metadata.get("tags", []))
            assert skeleton.startswith(f"%%judge {number} --lang {lang}\n")
            assert "raise NotImplementedError" in skeleton
        everything = "\n".join(cell.source for cell in cells)
        assert "row[old.cached_len : cached_len] =" not in everything
        assert "self.cache_manager.unlock(handle)" not in everything
        assert not any(cell.get("outputs") for cell in cells)


def test_the_public_samples_are_in_the_notebook_whole() -> None:
    text = "\n".join(cell.source for cell in notebook("zh", solved=False).cells)
    for number in GRADED:
        assert find(number).samples.strip() in text


def test_solved_notebook_runs_from_top_to_bottom() -> None:
    solved = notebook("zh", solved=True)
    execute(solved, "zh")
    assert failed(solved) == {}
    assert len(verdicts(solved)) == len(GRADED)
    assert all("AC" in verdict for verdict in verdicts(solved))


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "solved"), [("en", True), ("zh", False), ("en", False)])
def test_notebooks_of_both_kinds_and_languages(lang: str, solved: bool) -> None:
    ran = notebook(lang, solved=solved)
    execute(ran, lang)
    wanted = {} if solved else dict.fromkeys(["samples-192", "samples-193", "payoff"], "NotImplementedError")
    assert failed(ran) == wanted
    assert len(verdicts(ran)) == len(GRADED)
    assert all(("AC" in verdict) is solved for verdict in verdicts(ran)) or not solved
