"""Notebooks: what is committed is what the sources say, and it runs as far as it should."""

from __future__ import annotations

import ast
import re
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from judge.exercises import find
from judge.solution import solution_text
from judge.starter import starter
from tools.book.site import ROOT, Site
from tools.book.source import parse
from tools.notebooks.build import make, sources

CHAPTERS = sorted(path.stem for lang, path in sources() if lang == "zh")
# In a quick run one solved notebook is enough; the slow one runs all, as handed out, too.
QUICK = "08_cache_manager"

SITE = Site("", "/{lang}/exercises/{id}")


def graded(chapter: str) -> list[str]:
    """The chapter's exercises, in the order in which the page has them."""
    path = ROOT / "chapters" / "zh" / f"{chapter}.md"
    text = path.read_text(encoding="utf-8")
    found: list[str] = re.findall(r"^```\{exercise\} (\d+)$", text, re.M)
    assert sorted(map(int, found)) == parse(text, path).head["exercises"]
    return found


def notebook(chapter: str, lang: str, *, solved: bool) -> Any:
    relative = next(path for each, path in sources() if each == lang and path.stem == chapter)
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


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_both_languages_have_the_same_cells(chapter: str) -> None:
    zh, en = notebook(chapter, "zh", solved=False), notebook(chapter, "en", solved=False)
    assert [shape(cell) for cell in zh.cells] == [shape(cell) for cell in en.cells]


def shape(cell: Any) -> tuple[Any, ...]:
    headings = [line.split(" ")[0] for line in cell.source.splitlines() if line.startswith("#")]
    is_code = cell.cell_type == "code"
    return (
        cell.cell_type,
        cell.metadata.get("tags"),
        None if is_code else headings,
        None if is_code else cell.source.count("](data:image/svg+xml;base64,"),
    )


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_cells_come_in_the_order_in_which_a_learner_needs_them(chapter: str) -> None:
    cells = notebook(chapter, "zh", solved=False).cells
    tags = [cell.metadata.get("tags", [""])[0] for cell in cells]
    assert tags[tags.index(f"exercise-{graded(chapter)[0]}") + 2] == "free"
    needed = [tag for number in graded(chapter) for tag in (f"exercise-{number}", f"samples-{number}")]
    last_payoff = len(tags) - 1 - tags[::-1].index("payoff")
    places = [*(tags.index(tag) for tag in needed), last_payoff]
    assert places == sorted(places)


@pytest.mark.parametrize("chapter", CHAPTERS)
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_learners_notebook_holds_no_solution_and_no_output(lang: str, chapter: str) -> None:
    cells = notebook(chapter, lang, solved=False).cells
    everything = "\n".join(cell.source for cell in cells)
    for number in graded(chapter):
        skeleton = next(c.source for c in cells if f"exercise-{number}" in c.metadata.get("tags", []))
        assert skeleton.startswith(f"%%judge {number} --lang {lang}\n")
        assert find(number).form == "find_the_bug" or "raise NotImplementedError" in skeleton
        for line in secret_lines(number):
            assert line not in everything
    assert not any(cell.get("outputs") for cell in cells)


def secret_lines(number: str) -> list[str]:
    """Statements of the solution that its starter lacks, the long ones, which nothing else says by chance."""
    exercise = find(number)
    solution = solution_text(exercise)
    lines = {line.strip().strip('"') for line in solution.splitlines()}
    documented = (n for n in ast.walk(ast.parse(solution)) if isinstance(n, ast.FunctionDef | ast.ClassDef))
    known = "\n".join(
        [starter(exercise, "zh"), exercise.samples, *(ast.get_docstring(n) or "" for n in documented)]
    )
    public = ("#", "from ", "import ")
    return [line for line in lines if len(line) > 40 and not line.startswith(public) and line not in known]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_public_samples_are_in_the_notebook_whole(chapter: str) -> None:
    text = "\n".join(cell.source for cell in notebook(chapter, "zh", solved=False).cells)
    for number in graded(chapter):
        # a bug may be mended by a short line
        assert secret_lines(number) or find(number).form == "find_the_bug"
        assert find(number).samples.strip() in text


_UNWRITTEN = "NotImplementedError"


def raised(number: str) -> str:
    """What the samples raise on the starter, which is written, but wrong, in a find-the-bug exercise."""
    return "AssertionError" if find(number).form == "find_the_bug" else _UNWRITTEN


def check_run(chapter: str, lang: str, *, solved: bool) -> None:
    """Solved, every cell runs; as handed out, those fail that need what the learner writes."""
    ran, numbers = notebook(chapter, lang, solved=solved), graded(chapter)
    execute(ran, lang)
    unwritten = {f"samples-{number}": raised(number) for number in numbers} | {"payoff": _UNWRITTEN}
    assert failed(ran) == ({} if solved else unwritten)
    assert len(verdicts(ran)) == len(numbers)
    assert all(("AC" in verdict) is solved for verdict in verdicts(ran))


def test_solved_notebook_runs_from_top_to_bottom() -> None:
    check_run(QUICK, "zh", solved=True)


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
@pytest.mark.parametrize(("lang", "solved"), [("zh", True), ("en", True), ("zh", False), ("en", False)])
def test_notebooks_of_both_kinds_and_languages(chapter: str, lang: str, solved: bool) -> None:
    check_run(chapter, lang, solved=solved)
