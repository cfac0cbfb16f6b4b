"""`make book`: both trees of the book, as files that need no server of their own and no network.

    python -m tools.book.build             # into build/site/book, with the site's styles beside it
    python -m tools.book.build --external  # list the links that leave the site

`build(out)` writes `out/zh` and `out/en`. Pages name the rest of the site by relative addresses
(`../../assets/…`, `../../zh/exercises/192/`).
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from judge.i18n import LANGS, t
from tools.book.glossary import GlossaryError, load_terms
from tools.book.links import check_links, external_links
from tools.book.mdbook import BuildError, run_mdbook
from tools.book.publish import compile_scripts, publish, read_tree, set_formulas
from tools.book.searching import index_pages
from tools.book.shell import NAMES
from tools.book.site import ROOT, publish_shared, read_site, web_address
from tools.book.source import SourceError
from tools.book.summary import read_summary, same_pages
from tools.folders import replace_folder

__all__ = ["BuildError", "build", "read_site", "web_address"]


def build(out: Path, root: Path = ROOT) -> None:
    """Build both trees into `out/zh` and `out/en`; what was there is replaced at the end, all at once.

    Raises:
        BuildError: a source has to be mended; the text names file and line.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".book-") as scratch:
        try:
            made = _build(Path(scratch), root)
        except (SourceError, GlossaryError) as error:
            raise BuildError(str(error)) from error
        replace_folder(made, out)


def _build(work: Path, root: Path) -> Path:
    summaries = {lang: read_summary(root, lang) for lang in LANGS}
    same_pages(summaries)
    terms = load_terms(root)
    trees = [read_tree(lang, entries, run_mdbook(lang, root, work)) for lang, entries in summaries.items()]
    setter = set_formulas(trees, root)
    out = work / "out"
    compile_scripts(work / "js")
    for tree in trees:
        publish(trees, tree, terms, setter, out / tree.lang, root)
        shutil.copytree(work / "js", out / tree.lang / "assets" / "js")
    if broken := check_links(out, root):
        raise BuildError("\n".join(broken))
    for lang in LANGS:
        index_pages(out / lang)
    _front_door(out)
    return out


def _front_door(out: Path) -> None:
    """A page for whoever opens the folder itself: to the book in the reader's language."""
    links = " · ".join(
        f'<a href="{lang}/index.html" lang="{NAMES[lang][0]}">{t("book.title", lang)}</a>' for lang in LANGS
    )
    (out / "index.html").write_text(
        f'<!doctype html><html lang="zh-CN"><meta charset="utf-8"><title>{t("book.title", "zh")}</title>'
        f'<script type="module" src="zh/assets/js/door.js"></script><p>{links}</p></html>\n',
        encoding="utf-8",
    )


def main() -> int:
    """Build into `build/site/book`; what has to be mended goes to standard error, status 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.book.build")
    parser.add_argument("--external", action="store_true", help="list the links that leave the site")
    listed = parser.parse_args().external
    out = ROOT / "build" / "site" / "book"
    try:
        build(out)
        publish_shared(out.parent / "assets")
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    if listed:
        print("\n".join(external_links(out)))
    else:
        print(f"book: {out.relative_to(ROOT)}/zh/index.html, {out.relative_to(ROOT)}/en/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
