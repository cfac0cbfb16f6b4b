"""`make site`: the whole site into `build/site/`, as files that any web server can serve.

Parts that other builders make (book, the tab's Python, animations) are built only when their sources have
changed. The site is put together aside and then renamed, so that what is served is always whole.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from judge.exercise_toml import ExerciseError
from judge.exercises import ROOT, load_exercises
from judge.service.headers import frame_hash, page_policy
from tools.animations.build import build as build_animations
from tools.book.build import build as build_book
from tools.book.site import publish_shared, set_policy
from tools.folders import replace_folder
from tools.node import NodeMissing, find_node, install_packages
from tools.runtime.build import build as build_runtime
from tools.runtime.offline import write_precache
from tools.site.cards import cards
from tools.site.data import write_exercises, write_json, write_words
from tools.site.pages import Assets, Pages
from tools.site.parts import SiteError, build_part, fingerprint, place
from tools.site.styles import write_styles

WEB = ROOT / "web"
OUT = ROOT / "build" / "site"
STORE = ROOT / "build" / "parts"
APP_INPUTS = ("web/src", "web/vite.config.ts", "web/catalogue.ts", "i18n", "web/package-lock.json")


@dataclass(frozen=True)
class Part:
    """What another builder makes: `build(folder)` puts it into the site's `folder`."""

    name: str
    build: Callable[[Path], None]
    folder: str
    inputs: tuple[str, ...]
    needed: bool
    remedy: str


BOOK = Part(
    name="book",
    build=build_book,
    folder="book",
    inputs=(
        "book.toml",
        "chapters",
        "examples",
        "i18n",
        "judge/exercises.py",
        "judge/starter.py",
        "minisgl",
        "solutions",
        "tests/chapters",
        "tools/book",
        "web/package-lock.json",
        "web/src/book",
        "web/styles",
    ),
    needed=True,
    remedy="Mend what it says and run the command again",
)
RUNTIME = Part(
    name="runtime",
    build=build_runtime,
    folder="assets/runtime",
    inputs=(
        "examples",
        "i18n",
        "judge",
        "minisgl",
        "tools/runtime",
        "web/judge_runner",
        "web/package-lock.json",
        "web/src/runner",
        "web/tab_io",
        "web/torch_shim",
        "web/vite.worker.config.ts",
    ),
    needed=False,
    remedy="Until then Python does not run in the tab: samples go to the judge",
)
ANIMATIONS = Part(
    name="animations",
    build=build_animations,
    folder="assets/animations",
    inputs=(
        "animations",
        "i18n",
        "tools/animations",
        "web/package-lock.json",
        "web/src/book/singular.ts",
        "web/styles",
    ),
    needed=False,
    remedy="Until then pages show the text in their place",
)
PARTS = (BOOK, RUNTIME, ANIMATIONS)


def build(
    out: Path,
    *,
    course: Path = ROOT,
    store: Path = STORE,
    parts: Sequence[Part] = PARTS,
    judge: bool = True,
) -> list[str]:
    """Build the site of `course` into `out`. Returns what is missing in it, in words.

    Without `judge` the pages are for a host that has none: they ask for none, and say so at once.

    Raises:
        SiteError: a part that the site cannot do without has to be mended; the text says which and how.
    """
    try:
        exercises = load_exercises(course)
    except ExerciseError as error:
        raise SiteError(f"exercises: {error}") from None
    missing: list[str] = []
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".site-") as scratch:
        fresh = Path(scratch) / "site"
        assets = fresh / "assets"
        place(_app(store), assets / "app")
        for part in parts:
            _other(part, store, fresh, missing)
        styles = write_styles(WEB / "styles", assets / "styles")
        publish_shared(assets)
        for file in sorted((WEB / "static").iterdir()):
            shutil.copyfile(file, assets / file.name)
        write_words(assets / "app")
        write_exercises(exercises, assets / "exercises")
        for lang, own in cards(course).items():
            write_json(assets / f"cards.{lang}.json", own)
        if (assets / "app" / "sw.js").is_file():  # its scope is the folder that it lies in
            shutil.move(assets / "app" / "sw.js", fresh / "sw.js")
        known = replace(_assets(fresh, styles), judge=judge)
        shutil.rmtree(assets / "app" / ".vite", ignore_errors=True)  # Vite's manifest is ours alone
        set_policy(fresh / "book", known.policy)
        Pages(course, exercises, known).write(fresh)
        write_precache(fresh)
        replace_folder(fresh, out)
    return missing


def _app(store: Path) -> Path:
    """The scripts, bundled by Vite."""

    def bundle(target: Path) -> None:
        try:
            install_packages()
            vite = ["node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"]
            find_node().run(*vite, "--outDir", str(target.resolve()), cwd=WEB)
        except NodeMissing as error:
            raise SiteError(f"app: {error}") from None
        except subprocess.CalledProcessError:
            raise SiteError(
                "app: npm or Vite failed (the message stands above). Mend web/src, or run npm ci in web/"
            ) from None

    return build_part(store, "app", fingerprint(ROOT, APP_INPUTS), bundle)[0]


def _other(part: Part, store: Path, site: Path, missing: list[str]) -> None:
    """Build a part by its own builder and put it into the site; say so where it cannot be."""
    try:
        folder, _ = build_part(store, part.name, fingerprint(ROOT, part.inputs), part.build)
    except Exception as error:  # each builder has errors of its own, whose text says what to do
        text = f"{part.name}: {error}. {part.remedy}"
        if part.needed:
            raise SiteError(text) from error
        missing.append(text)
        return
    place(folder, site / part.folder)


def _assets(site: Path, styles: dict[str, str]) -> Assets:
    """What the pages are to know of the rest of the site."""
    assets = site / "assets"
    animations = assets / "animations"
    manifest = assets / "runtime" / "manifest.json"
    runtime = json.loads(manifest.read_bytes()) if manifest.is_file() else {}
    return Assets(
        styles=styles,
        preload=_preload(assets / "app" / ".vite" / "manifest.json"),
        runtime="files" in runtime,
        animations=tuple(sorted(one.stem for one in animations.glob("*.js") if one.stem != "element")),
        book=tuple(sorted(page.relative_to(site).as_posix() for page in (site / "book").glob("*/*.html"))),
        worker=(site / "sw.js").is_file(),
        policy=page_policy(frame_hash(runtime)),
    )


def _preload(manifest: Path) -> dict[str, list[str]]:
    """The chunks that each entry needs at once, so that a page asks for them before it has read the entry."""
    if not manifest.is_file():
        return {}
    chunks = json.loads(manifest.read_text(encoding="utf-8"))

    def needs(name: str, seen: list[str]) -> list[str]:
        for each in chunks[name].get("imports", ()):
            if each not in seen:
                seen.append(each)
                needs(each, seen)
        return seen

    return {
        chunk["name"]: [chunks[each]["file"] for each in needs(key, [])]
        for key, chunk in chunks.items()
        if chunk.get("isEntry")
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Build into `build/site`; what has to be mended goes to standard error, status 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.site.build", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the site (default build/site)")
    parser.add_argument("--strict", action="store_true", help="fail, too, where a part is missing")
    parser.add_argument("--no-judge", action="store_true", help="for a host without the judge")
    options = parser.parse_args(arguments)
    try:
        missing = build(options.out.resolve(), judge=not options.no_judge)
    except SiteError as error:
        print(f"site: {error}.", file=sys.stderr)
        return 1
    for text in missing:
        print(f"site: without {text}.", file=sys.stderr)
    print(f"site: {options.out}")
    return 1 if missing and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
