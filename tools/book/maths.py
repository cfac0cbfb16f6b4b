r"""Formulas: `$a$` in a line, `$$` on lines of their own; KaTeX sets them while the book is built.

In the Markdown a formula becomes an empty element that carries its TeX, so that Markdown leaves it alone. In
the finished pages KaTeX's HTML takes its place; what KaTeX writes into `style` attributes becomes classes of
a style sheet, because the site's policy allows no inline styles. A dollar sign is written `\$`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from html import escape, unescape
from pathlib import Path

from tools.book.source import Source, SourceError, code_lines
from tools.node import WEB, find_node

SCRIPT = Path(__file__).resolve().parent / "katex.mjs"
_TOKEN = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))|(?P<escaped>\\[\\$])"
    r"|(?P<display>\$\$(?P<block>.+?)\$\$)|(?P<inline>\$(?=[^\s$])(?P<tex>[^$\n]*?[^\s$])\$(?!\d))",
    re.S,
)
_PLACE = re.compile(r'<(span|div) class="tex" data-tex="([^"]*)"></\1>')
_STYLED = re.compile(r"<(?P<tag>[a-z]+)(?P<before>[^<>]*?) style=\"(?P<style>[^\"]*)\"(?P<after>[^<>]*)>")
_FACE = re.compile(r"@font-face\{[^}]*\}")


class MathError(Exception):
    """KaTeX does not take a formula. `tex` is that formula."""

    def __init__(self, tex: str, why: str) -> None:
        super().__init__(f"KaTeX does not take ${tex}$: {why}")
        self.tex = tex


def place(tex: str, *, display: bool) -> str:
    """What stands in the Markdown for a formula."""
    tag = "div" if display else "span"
    return f'<{tag} class="tex" data-tex="{escape(" ".join(tex.split()))}"></{tag}>'


def mark_formulas(source: Source) -> str:
    """The text of a source with its formulas as places, outside of code; its lines keep their numbers.

    Raises:
        SourceError: a displayed formula shares a line, or touches the text around it.
    """
    lines = source.text.split("\n")
    code = code_lines(source)
    out: list[str] = []
    start = 0
    for at in range(len(lines) + 1):
        if at < len(lines) and at not in code:
            continue
        if at > start:
            out.extend(_mark(source, lines[start:at], source.first_line + start))
        out.extend(lines[at : at + 1])
        start = at + 1
    return "\n".join(out)


def _mark(source: Source, lines: Sequence[str], first_line: int) -> list[str]:
    text = "\n".join(lines)

    def put(found: re.Match[str]) -> str:
        if found["inline"]:
            return place(found["tex"], display=False)
        if not found["display"]:
            return found[0]
        before, after = text[: found.start()], text[found.end() :]
        if not re.search(r"(^|\n[ \t]*\n)$", before) or not re.match(r"[ \t]*(\n[ \t]*(\n|$)|$)", after):
            line = first_line + before.count("\n")
            raise SourceError(source.path, line, "$$ needs lines of its own, and an empty line around them")
        return place(found["block"], display=True) + "\n" * found["block"].count("\n")

    return _TOKEN.sub(put, text).split("\n")


def formulas(html: str) -> list[tuple[str, bool]]:
    """TeX of each place in a page, and whether it is displayed."""
    return [(unescape(found[2]), found[1] == "div") for found in _PLACE.finditer(html)]


class Setter:
    """Sets all formulas of a book with one run of Node, and writes one style sheet for them."""

    def __init__(self, wanted: Iterable[tuple[str, bool]]) -> None:
        """Raises MathError for the first formula that KaTeX does not take."""
        self._styles: dict[str, str] = {}
        order = sorted(set(wanted))
        self._html = dict(zip(order, map(self._classes, self._run(order)), strict=True)) if order else {}

    @staticmethod
    def _run(order: Sequence[tuple[str, bool]]) -> list[str]:
        done = subprocess.run(
            [*find_node().node, str(SCRIPT), str(WEB / "node_modules" / "katex" / "dist" / "katex.mjs")],
            input=json.dumps([{"tex": tex, "display": display} for tex, display in order]),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        answers = json.loads(done.stdout)
        for (tex, _), answer in zip(order, answers, strict=True):
            if "error" in answer:
                raise MathError(tex, answer["error"])
        return [answer["html"] for answer in answers]

    def _classes(self, html: str) -> str:
        def name(found: re.Match[str]) -> str:
            css = self._styles.setdefault(found["style"].rstrip(";"), f"kx{len(self._styles)}")
            rest = found["before"] + found["after"]
            if ' class="' not in rest:
                rest = f' class=""{rest}'
            rest = rest.replace(' class="', f' class="{css} ', 1).replace(' "', '"')
            return f"<{found['tag']}{rest}>"

        return _STYLED.sub(name, html)

    def set(self, html: str) -> str:
        """A page with its formulas in place."""

        def put(found: re.Match[str]) -> str:
            formula = self._html[unescape(found[2]), found[1] == "div"]
            return f'<div class="formula">{formula}</div>' if found[1] == "div" else formula

        return _PLACE.sub(put, html)

    def publish(self, folder: Path) -> None:
        """`katex.css` and the fonts that these formulas need; nothing where there is no formula."""
        if not self._html:
            return
        dist = WEB / "node_modules" / "katex" / "dist"
        css = (dist / "katex.min.css").read_text(encoding="utf-8")
        used = _families(css, "".join(self._html.values()))
        bold = re.search("mathbf|boldsymbol|textbf", "".join(self._html.values())) is not None
        faces: list[str] = []
        for face in _FACE.findall(css):
            family, file = (
                re.search(r'font-family:"?(\w+)', face),
                re.search(r"url\((fonts/[\w-]+\.woff2)\)", face),
            )
            if family and file and family[1] in used and (bold or "font-weight:700" not in face):
                faces.append(re.sub(r"src:[^}]*", f'src:url({file[1]}) format("woff2")', face))
                (folder / "fonts").mkdir(exist_ok=True)
                shutil.copyfile(dist / file[1], folder / file[1])
        own = "".join(f".{name}{{{style}}}" for style, name in self._styles.items())
        text = "".join(faces) + _FACE.sub("", css) + own
        shutil.copyfile(WEB / "node_modules" / "katex" / "LICENSE", folder / "katex.LICENSE.txt")
        (folder / "katex.css").write_text(text + "\n", encoding="utf-8")


def _families(css: str, html: str) -> set[str]:
    """The font families of rules one of whose selectors ends in a class that the HTML has."""
    present = {name for found in re.findall(r'class="([^"]*)"', html) for name in found.split()}
    used = {"KaTeX_Main"}
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", _FACE.sub("", css)):
        family = re.search(r'font(?:-family)?:[^;]*?"?(KaTeX_\w+)', body)
        last = [re.findall(r"\.([\w-]+)", selector)[-1:] for selector in selectors.split(",")]
        if family and any(name and name[0] in present for name in last):
            used.add(family[1])
    return used
