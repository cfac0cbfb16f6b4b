"""From mdBook's pages to the book's: formulas, terms, map and languages come in; assets are laid beside."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.book.glossary import Marker, Term
from tools.book.maths import MathError, Setter, formulas
from tools.book.mdbook import BuildError
from tools.book.parts import THEME
from tools.book.printing import whole_book
from tools.book.shell import course_map, definitions, extras, languages
from tools.book.summary import Entry
from tools.node import WEB, find_node

SHEETS = ("book.css", "figure.css")
SCRIPTS = WEB / "src" / "book"
_ID = re.compile(r'\bid="([^"]+)"')
_HEADING = re.compile(r'<h[23] id="([^"]+)"')


@dataclass(frozen=True)
class Tree:
    """The book in one language. `raw` holds mdBook's HTML by page."""

    lang: str
    entries: list[Entry]
    raw: dict[str, str]


def read_tree(lang: str, entries: list[Entry], rendered: Path) -> Tree:
    """mdBook's pages; what else it writes, its own scripts, styles and fonts, is not used by our theme."""
    files = [entry.page for entry in entries]
    return Tree(lang, entries, {file: (rendered / file).read_text(encoding="utf-8") for file in files})


def set_formulas(trees: Sequence[Tree], root: Path) -> Setter:
    """All formulas of all languages, set at once.

    Raises:
        BuildError: KaTeX does not take one; the text names file and line.
    """
    wanted = [each for tree in trees for html in tree.raw.values() for each in formulas(html)]
    try:
        return Setter(wanted)
    except MathError as error:
        for tree in trees:
            for entry in tree.entries:
                path = Path("chapters") / tree.lang / entry.file
                lines = " ".join((root / path).read_text(encoding="utf-8").split(" ")).split("\n")
                for number, line in enumerate(lines, start=1):
                    if error.tex.split("\n")[0] in line:
                        raise BuildError(f"{path}:{number}: {error}") from error
        raise BuildError(str(error)) from error


def publish(
    trees: Sequence[Tree], tree: Tree, terms: Sequence[Term], setter: Setter, out: Path, root: Path
) -> None:
    """The pages of `tree`, its print page, its notebooks and its assets into the folder `out`."""
    out.mkdir(parents=True)
    marker = Marker(terms, tree.lang)
    finished: dict[str, str] = {}
    for entry in tree.entries:
        html = tree.raw[entry.page]
        has_formulas = bool(formulas(html))
        head, article, tail = _split(setter.set(html))
        article, used = marker.mark(_for_readers(article))
        other_ids = {each.lang: _HEADING.findall(each.raw[entry.page]) for each in trees}
        html = _fill(
            head + article + tail,
            map=course_map(tree.entries, entry.page, tree.lang, root),
            languages=languages(entry.page, tree.lang, other_ids),
            extras=extras(article, has_formulas),
            definitions=definitions(used, tree.lang),
        )
        finished[entry.page] = html
        (out / entry.page).write_text(html, encoding="utf-8")
    (out / "print.html").write_text(whole_book(tree.entries, finished, tree.lang), encoding="utf-8")
    for notebook in sorted((root / "chapters" / tree.lang).glob("*.ipynb")):
        shutil.copyfile(notebook, out / notebook.name)
    assets = out / "assets"
    assets.mkdir()
    for name in SHEETS:
        shutil.copyfile(THEME / name, assets / name)
    setter.publish(assets)


def _split(html: str) -> tuple[str, str, str]:
    """What stands before the article, the article, and what stands after it."""
    start, end = html.index("<article"), html.index("</article>")
    return html[:start], html[start:end], html[end:]


def _for_readers(article: str) -> str:
    """Code that may scroll can have the focus; cells of a table are words apart for the search."""
    article = article.replace("<pre><code", '<pre tabindex="0"><code')
    return re.sub(r"(</t[hd]>)(<t[hd])", r"\1 \2", article)


def _fill(html: str, **places: str) -> str:
    for name, text in places.items():
        html = html.replace(f"<!--{name}-->", text, 1)
    return html


def compile_scripts(out: Path) -> None:
    """The book's TypeScript as the modules that its pages load.

    Raises:
        BuildError: the compiler found a mistake; the text is what it said.
    """
    compiler = WEB / "node_modules" / "typescript" / "bin" / "tsc"
    if not compiler.is_file():
        raise BuildError("the packages of web/ are not installed; run: python -m tools.setup_env")
    done = subprocess.run(
        [*find_node().node, str(compiler), "-p", str(SCRIPTS / "tsconfig.json"), "--outDir", str(out)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode:
        raise BuildError((done.stdout + done.stderr).strip())
