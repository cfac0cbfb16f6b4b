"""`python -m tools.animations.build`: animations/ as modules for browsers, into build/animations/."""

from __future__ import annotations

import html
import json
import shutil
import sys
import tomllib
from pathlib import Path

from tools.node import ROOT, find_node, install_packages

SOURCE = ROOT / "animations"
NAMES = (
    "kv_pool",
    "page_table",
    "block_pool",
    "radix_tree",
    "scheduler_timeline",
    "chunked_prefill",
    "overlap",
    "request_life",
    "tensor_parallel",
    "cuda_graph",
)
LANGS = ("zh", "en")
SHARED = "player_"


def build(out: Path) -> None:
    """Write into `out`: NAME.js for each animation, element.js, the recorded traces, for_exercise.json, and a
    page in each language that shows them all.

    Raises:
        NodeMissing: see tools.node.
        subprocess.CalledProcessError: the bundler refused; its own words stand on stderr.
    """
    install_packages()
    out.mkdir(parents=True, exist_ok=True)
    modules = [
        {
            "entry": str(SOURCE / name / "index.ts"),
            "out": str(out / f"{name}.js"),
            "words": words(name),
        }
        for name in NAMES
    ]
    modules.append({"entry": str(SOURCE / "element.ts"), "out": str(out / "element.js"), "words": {}})
    plan = out / ".plan.json"
    plan.write_text(json.dumps({"modules": modules}, ensure_ascii=False), encoding="utf-8")
    try:
        find_node().run(str(Path(__file__).with_name("bundle.mjs")), str(plan))
    finally:
        plan.unlink()
    shutil.copytree(SOURCE / "traces", out / "traces", dirs_exist_ok=True)
    shutil.copyfile(SOURCE / "for_exercise.json", out / "for_exercise.json")
    for lang in LANGS:
        (out / f"{lang}.html").write_text(gallery(lang), encoding="utf-8")


def words(name: str) -> dict[str, dict[str, str]]:
    """The catalogue's entries that one animation needs, by language."""
    chosen: dict[str, dict[str, str]] = {}
    for lang in LANGS:
        catalogue = tomllib.loads((ROOT / "i18n" / f"{lang}.toml").read_text(encoding="utf-8"))["animation"]
        chosen[lang] = {key: text for key, text in catalogue.items() if key.startswith((SHARED, f"{name}_"))}
    return chosen


def gallery(lang: str) -> str:
    """A page with every animation."""
    titles = {name: html.escape(words(name)[lang][f"{name}_title"]) for name in NAMES}
    sections = "\n".join(
        f'<section aria-labelledby="{name}-h"><h2 id="{name}-h">{title}</h2>'
        f'<minisgl-animation name="{name}" lang="{lang}">{title}</minisgl-animation></section>'
        for name, title in titles.items()
    )
    other = next(one for one in LANGS if one != lang)
    return (
        f'<!doctype html>\n<html lang="{"zh-CN" if lang == "zh" else "en"}">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<title>minisgl</title>\n'
        '<script type="module" src="element.js"></script>\n'
        f'<main>\n<h1>minisgl</h1>\n<p><a href="{other}.html" hreflang="{other}">{other}</a></p>\n'
        f"{sections}\n</main>\n</html>\n"
    )


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "animations")
