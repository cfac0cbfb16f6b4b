"""`make site`: the whole site into `build/site/`, as files that any web server can serve.

Parts that other builders make (book, the tab's Python, animations) are built only when their sources have
changed. The site is put together aside and then renamed, so that what is served is always whole.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.exercise_toml import ExerciseError
from judge.exercises import ROOT, load_exercises
from judge.service.headers import frame_hash, page_policy
from tools.book.site import set_policy
from tools.node import NodeMissing, find_node, install_packages
from tools.runtime.offline import write_precache
from tools.site.cards import cards
from tools.site.data import write_exercises, write_json, write_words
from tools.site.pages import Assets, Pages
from tools.site.parts import SiteError, build_part, fingerprint, place, replace
from tools.site.styles import write_styles

WEB = ROOT / "web"
OUT = ROOT / "build" / "site"
STORE = ROOT / "build" / "parts"
APP_INPUTS = ("web/src", "web/vite.config.ts", "web/catalogue.ts", "i18n", "web/package-lock.json")


@dataclass(frozen=True)
class Part:
    """What another builder makes: `module.build(folder)` puts it into the site's `folder`."""

    name: str
    module: str
    folder: str
    inputs: tuple[str, ...]
    needed: bool
    remedy: str


PARTS = (
    Part(
        "book",
        "tools.book.build",
        "book",
        (
            *(
                "book.toml",
                "chapters",
                "tools/book",
                "i18n",
                "minisgl",
                "examples",
                "tests/chapters",
                "web/styles",
            ),
            *("solutions", "judge/exercises.py", "judge/starter.py", "web/src/book", "web/package-lock.json"),
        ),
        True,
        "Mend what it says and run the command again",
    ),
    Part(
        "runtime",
        "tools.runtime.build",
        "assets/runtime",
        (
            *(
                "tools/runtime",
                "web/src/runner",
                "web/torch_shim",
                "web/tab_io",
                "web/judge_runner",
                "minisgl",
            ),
            *("judge", "web/package-lock.json", "web/vite.worker.config.ts", "i18n", "examples"),
        ),
        False,
        "Until then Python does not run in the tab: samples go to the judge",
    ),
    Part(
        "animations",
        "tools.animations.build",
        "assets/animations",
        ("animations", "tools/animations", "i18n", "web/package-lock.json", "web/styles"),
        False,
        "Until then pages show the text in their place",
    ),
)


def build(out: Path, *, course: Path = ROOT, store: Path = STORE, parts: Sequence[Part] = PARTS) -> list[str]:
    """Build the site of `course` into `out`. Returns what is missing in it, in words.

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
        shutil.copytree(WEB / "styles" / "fonts", assets / "styles" / "fonts")
        for file in sorted((WEB / "static").iterdir()):
            shutil.copyfile(file, assets / file.name)
        write_words(assets / "app")
        write_exercises(exercises, assets / "exercises")
        for lang, own in cards(course).items():
            write_json(assets / f"cards.{lang}.json", own)
        if (assets / "app" / "sw.js").is_file():  # its scope is the folder that it lies in
            shutil.move(assets / "app" / "sw.js", fresh / "sw.js")
        known = _assets(fresh, styles)
        shutil.rmtree(assets / "app" / ".vite", ignore_errors=True)  # Vite's manifest is ours alone
        set_policy(fresh / "book", known.policy)
        Pages(course, exercises, known).write(fresh)
        write_precache(fresh)
        replace(fresh, out)
    return missing


def _app(store: Path) -> Path:
    """The scripts, bundled by Vite."""

    def bundle(target: Path) -> None:
        try:
            install_packages()
            find_node().run(
                *(
                    "node_modules/vite/bin/vite.js",
                    "build",
                    "--logLevel",
                    "warn",
                    "--outDir",
                    str(target.resolve()),
                ),
                cwd=WEB,
            )
        except NodeMissing as error:
            raise SiteError(f"app: {error}") from None
        except subprocess.CalledProcessError:
            raise SiteError(
                "app: npm or Vite failed (the message stands above). Mend web/src, or run npm ci in web/"
            ) from None

    return build_part(store, "app", fingerprint(ROOT, APP_INPUTS), bundle)[0]


def _other(part: Part, store: Path, site: Path, missing: list[str]) -> None:
    """Build a part by its own builder and put it into the site; say so where it cannot be."""
    if not _is_there(part.module):
        missing.append(f"{part.name}: its builder {part.module} is not there. {part.remedy}")
        return
    build_it: Callable[[Path], None] = importlib.import_module(part.module).build
    try:
        folder, _ = build_part(store, part.name, fingerprint(ROOT, part.inputs), build_it)
    except Exception as error:  # each builder has errors of its own, whose text says what to do
        text = f"{part.name}: {error}. {part.remedy}"
        if part.needed:
            raise SiteError(text) from error
        missing.append(text)
        return
    place(folder, site / part.folder)


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


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
    options = parser.parse_args(arguments)
    try:
        missing = build(options.out.resolve())
    except SiteError as error:
        print(f"site: {error}.", file=sys.stderr)
        return 1
    for text in missing:
        print(f"site: without {text}.", file=sys.stderr)
    print(f"site: {options.out}")
    return 1 if missing and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
