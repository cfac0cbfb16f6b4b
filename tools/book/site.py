"""Where the book's pages find what is not the book's: the repository, the site around them, its styles.

Every address is relative to a page, `book/{lang}/NAME.html` of the site, so the site works below any folder.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from judge.service.headers import page_policy

ROOT = Path(__file__).resolve().parents[2]
UP = "../../"
"""From a page of the book to the site's root."""

STYLES = ROOT / "web" / "styles"
SHARED = ("palette.css", "tokens.css", "base.css")
"""Style sheets of the site that every page of the book loads from `assets/styles/`."""

SCRIPT = "theme.js"
"""The site's, loaded before a page is drawn, from `assets/`."""

ICON = "mark.svg"
"""The site's icon, from `assets/`, too."""

INLINE_EXERCISE = ("assets/styles/inline.css", "assets/app/inline.js")
ANIMATION = ("assets/animations/element.js",)
ADDRESSES = tuple(f"{{lang}}/{place}" for place in ("", "exercises/", "cards/", "playground/", "progress/"))
"""Pages of the site that a page of the book may link to, besides the exercises."""

POLICY = page_policy()
"""Also in each page, for hosts that send no headers."""


@dataclass(frozen=True)
class Site:
    """Where the pages of this site and its repository are. `runner` has the places {lang} and {id}.

    `repository` is empty for a notebook, which lies in the repository and links to the file beside it.
    """

    repository: str
    runner: str


def read_site(root: Path = ROOT) -> Site:
    """The addresses that the pages link to."""
    config = tomllib.loads((root / "book.toml").read_text(encoding="utf-8"))
    configured = config["output"]["html"]["git-repository-url"]
    return Site(web_address(_origin(root)) or configured, config["preprocessor"]["course"]["runner"])


def _origin(root: Path) -> str:
    command = ["git", "-C", str(root), "remote", "get-url", "origin"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def web_address(remote: str) -> str:
    """Where a person opens the repository that git calls `remote`; empty for a folder or no remote.

    User name and password, which a remote may carry, are left out.
    """
    found = re.fullmatch(
        r"(?:https?://|ssh://|git@)(?:[^@/]*@)?([\w.-]+)(?::\d+)?[:/](.+?)(?:\.git)?/?", remote
    )
    return f"https://{found[1]}/{found[2]}" if found else ""


def set_policy(book: Path, policy: str) -> None:
    """Give the pages of a built book the site's policy, which names the frame that runs Python.

    Pages are replaced, not written into: other copies may be links to the same file.
    """
    if policy == POLICY:
        return
    for page in sorted(book.rglob("*.html")):
        fresh = page.with_suffix(".fresh")
        fresh.write_text(page.read_text(encoding="utf-8").replace(POLICY, policy, 1), encoding="utf-8")
        fresh.replace(page)


def publish_shared(assets: Path) -> None:
    """What every page of the site and of the book loads: style sheets, fonts, icon, the script of themes."""
    styles = assets / "styles"
    styles.mkdir(parents=True, exist_ok=True)
    for name in SHARED:
        shutil.copyfile(STYLES / name, styles / name)
    shutil.copytree(STYLES / "fonts", styles / "fonts", dirs_exist_ok=True)
    for name in (SCRIPT, ICON):
        shutil.copyfile(ROOT / "web" / "static" / name, assets / name)
