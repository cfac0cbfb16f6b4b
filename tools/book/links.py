"""Every link of the built pages leads somewhere: to a page and its section, a file, an exercise."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from judge.exercises import load_exercises
from judge.i18n import LANGS
from tools.book.site import ADDRESSES, ANIMATION, ICON, INLINE_EXERCISE, SCRIPT, SHARED, UP

_EXERCISE = re.compile(r"(?P<lang>zh|en)/exercises/(?P<id>\d+)/")
_TRACE = re.compile(r"assets/animations/(?:traces/)?[\w.-]+")
_OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.I)


class _Page(HTMLParser):
    """Ids and addresses of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value is not None:
                self.addresses.append(value)


def check_links(out: Path, root: Path) -> list[str]:
    """What is wrong, one line each: `file:line: what`, in the source where the link was found there."""
    numbers = set(load_exercises(root)) if (root / "chapters" / "exercises").is_dir() else set()
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(out.rglob("*.html"))}
    broken: dict[str, None] = {}
    for path, page in pages.items():
        for address in page.addresses:
            why = _wrong(path, address, pages, numbers)
            if why:
                broken[f"{_source(path, address, out, root)}: {why}"] = None
    return list(broken)


def external_links(out: Path) -> list[str]:
    """The addresses of other hosts that the pages link to; nobody looks whether they answer."""
    found = {
        address
        for path in out.rglob("*.html")
        for address in _Page(path.read_text(encoding="utf-8")).addresses
        if _OUTSIDE.match(address)
    }
    return sorted(found)


def _wrong(path: Path, address: str, pages: dict[Path, _Page], numbers: set[int]) -> str:
    if _OUTSIDE.match(address):
        return "" if re.match(r"https?://|mailto:", address) else f"a link of an unknown kind: {address}"
    target, _, fragment = address.partition("#")
    if target.startswith(UP):
        return _wrong_on_site(target.removeprefix(UP), address, numbers)
    if target.startswith("/"):
        return f"a link from the root of a host does not work below a folder: {address}"
    file = (path.parent / unquote(target)).resolve() if target else path
    if not file.is_file():
        return f"no page or file {address}"
    if fragment and file in pages and unquote(fragment) not in pages[file].ids:
        return f"no section {address}"
    return ""


def _wrong_on_site(target: str, address: str, numbers: set[int]) -> str:
    """Like `_wrong` for what other builders make; exercises are known, the rest is a short list."""
    if found := _EXERCISE.fullmatch(target):
        return "" if int(found["id"]) in numbers else f"no exercise {found['id']}: {address}"
    known = {each.format(lang=lang) for each in ADDRESSES for lang in LANGS}
    known |= {f"assets/styles/{name}" for name in SHARED} | {f"assets/{name}" for name in (SCRIPT, ICON)}
    known |= {*INLINE_EXERCISE, *ANIMATION}
    return "" if target in known or _TRACE.fullmatch(target) else f"the site has no {address}"


def _source(path: Path, address: str, out: Path, root: Path) -> str:
    """`file:line` of the source whose text has this address; the built page when none has."""
    relative = path.relative_to(out)
    source = Path("chapters") / relative.with_suffix(".md")
    if (root / source).is_file():
        target, _, fragment = address.partition("#")
        page = target.removesuffix(".html")
        wanted = [f"]({address})", f"]({page}.md#{fragment})" if fragment else f"]({page}.md)"]
        if found := _EXERCISE.search(target):
            wanted += [f"](exercise:{found['id']})"]
        for number, line in enumerate((root / source).read_text(encoding="utf-8").splitlines(), start=1):
            if any(each in line for each in wanted):
                return f"{source}:{number}"
        return f"{source}:1"
    return f"{relative}"
