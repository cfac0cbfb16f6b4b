"""Figures: one SVG file for both languages, drawn with the colours of the page it stands in.

A child with `lang="zh"` or `lang="en"` appears in that language alone. Colours are classes of figure.css,
whose variables come from the page; a figure that stands alone (in a notebook) carries the values for light
and dark.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

SVG = "http://www.w3.org/2000/svg"
ET.register_namespace("", SVG)


@dataclass(frozen=True)
class Figure:
    """`alt` is the title and the description: what a reader who does not see the picture gets."""

    name: str
    alt: str
    svg: str


@dataclass(frozen=True)
class Animation:
    """An animation module of the site. `alt` says in words what it shows, `trace` what it plays."""

    name: str
    title: str
    alt: str
    trace: str


def load_figure(folder: Path, name: str, lang: str) -> Figure:
    """The figure `name` in one language.

    Raises:
        LookupError: there is no such file, or it lacks a title or a description in this language.
    """
    path = folder / f"{name}.svg"
    if not path.is_file():
        raise LookupError(f"no figure {path.name} in {folder.name}/")
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    _keep(root, lang)
    title, described = root.find(f"{{{SVG}}}title"), root.find(f"{{{SVG}}}desc")
    if title is None or described is None or not title.text or not described.text:
        raise LookupError(f"{path.name} has no title or no desc in {lang}")
    title.set("id", f"{name}-t")
    described.set("id", f"{name}-d")
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-t {name}-d")
    alt = re.sub(r"\s+", " ", f"{title.text} {described.text}").strip()
    return Figure(name, alt, re.sub(r"\s*\n\s*", "\n", ET.tostring(root, encoding="unicode")).strip())


def _keep(node: ET.Element, lang: str) -> None:
    for child in list(node):
        if child.get("lang", lang) != lang:
            node.remove(child)
            continue
        child.attrib.pop("lang", None)
        _keep(child, lang)


def stand_alone(figure: Figure, palette: str, figure_css: str) -> str:
    """The figure as a file of its own: colours written in, on paper, light or dark as the system asks."""
    pairs = re.findall(r"(--[\w-]+):\s*light-dark\((#\w+),\s*(#\w+)\)", palette)
    used = [pair for pair in pairs if f"var({pair[0]})" in figure_css]
    light = "".join(f"{name}:{value};" for name, value, _ in used)
    dark = "".join(f"{name}:{value};" for name, _, value in used)
    rules = re.sub(r"/\*.*?\*/|\s*\n\s*", "", figure_css, flags=re.S)
    style = f"svg{{{light}background:var(--paper)}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}{rules}"
    # without a size of its own an image is 300 pixels wide
    size = re.sub(r'viewBox="0 0 (\S+) (\S+)"', r'\g<0> width="\1" height="\2"', figure.svg, count=1)
    return size.replace(">", f"><style>{style}</style>", 1)
