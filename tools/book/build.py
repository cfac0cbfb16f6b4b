"""`make book`: both trees of the book into `build/book/`, as files that need no server and no network."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from judge.i18n import LANGS, t
from tools.book.page import ROOT, Site
from tools.book.parts import THEME

STATIC = ROOT / "judge" / "service" / "static"
"""The site's, whose fonts and palette are the book's, too."""
ASSETS = ("tokens.css", "base.css", "book.css", "figure.css", "book.js", "mark.svg")
NAMES = {"zh": ("zh-CN", "中文"), "en": ("en", "EN")}


class BuildError(Exception):
    """mdBook or the preprocessor refused; the text is what they said."""


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


def build(out: Path, root: Path = ROOT) -> None:
    """Build both trees into `out/zh` and `out/en`; what was there is replaced at the end, all at once.

    Raises:
        BuildError: a source has to be mended; the text names file and line.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".book-") as scratch:
        work = Path(scratch)
        for lang in LANGS:
            rendered = _mdbook(lang, root, work)
            _publish(rendered, work / "out" / lang, lang, root)
        _front_door(work / "out")
        if out.exists():
            shutil.rmtree(out)
        (work / "out").rename(out)


def _mdbook(lang: str, root: Path, work: Path) -> Path:
    theme = work / f"theme-{lang}"
    theme.mkdir()
    (theme / "index.hbs").write_text(_template(lang), encoding="utf-8")
    target = work / f"mdbook-{lang}"
    settings = {
        "BOOK__SRC": f"chapters/{lang}",
        "BOOK__LANGUAGE": lang,
        "BOOK__TITLE": t("book.title", lang),
        "OUTPUT__HTML__THEME": str(theme),
        "OUTPUT__HTML__GIT_REPOSITORY_URL": read_site(root).repository,
        "PREPROCESSOR__COURSE__COMMAND": f"{shlex.quote(sys.executable)} -m tools.book.preprocess",
    }
    environment = dict(os.environ) | {f"MDBOOK_{name}": value for name, value in settings.items()}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    binary = Path(sys.executable).with_name("mdbook")
    done = subprocess.run(
        [str(binary), "build", str(root), "--dest-dir", str(target)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode:
        raise BuildError((done.stderr + done.stdout).strip())
    return target


def _template(lang: str) -> str:
    """The theme's page with the words of one language in it."""
    text = (THEME / "index.hbs").read_text(encoding="utf-8")
    current = {lang: ' aria-current="true"'}
    links = "".join(
        f'<a href="{{{{path_to_root}}}}../{each}/{{{{path}}}}" lang="{code}" hreflang="{code}"'
        f"{current.get(each, '')}>{name}</a>"
        for each, (code, name) in NAMES.items()
    )
    text = text.replace("[[sprite]]", (THEME / "sprite.svg").read_text(encoding="utf-8").strip())
    text = text.replace("[[languages]]", links).replace("[[exercises]]", f"/{lang}/exercises")
    return re.sub(r"\[\[word (\w+)\]\]", lambda found: t(f"book.{found[1]}", lang), text)


def _publish(rendered: Path, target: Path, lang: str, root: Path) -> None:
    """Take over pages and notebooks; mdBook's own scripts, styles and fonts are not used by our theme."""
    target.mkdir(parents=True)
    for page in sorted(rendered.rglob("*.html")):
        relative = page.relative_to(rendered)
        if relative.name == "toc.html":
            continue
        text = page.read_text(encoding="utf-8")
        text = re.sub(r'(<a href="[^"]*\.\./(?:zh|en)/)[^"]*"', rf'\g<1>{relative.as_posix()}"', text)
        here = f'href="{relative.name}">'
        text = text.replace(f'wrapper"><a {here}', f'wrapper"><a aria-current="page" {here}')
        (target / relative).parent.mkdir(parents=True, exist_ok=True)
        (target / relative).write_text(text, encoding="utf-8")
    for notebook in sorted((root / "chapters" / lang).glob("*.ipynb")):
        shutil.copyfile(notebook, target / notebook.name)
    assets = target / "assets"
    assets.mkdir()
    for name in ASSETS:
        shutil.copyfile(THEME / name, assets / name)
    shutil.copyfile(STATIC / "palette.css", assets / "palette.css")
    shutil.copytree(STATIC / "fonts", assets / "fonts")


def _front_door(out: Path) -> None:
    """A page that opens the book in the reader's language, for whoever opens the folder itself."""
    links = " · ".join(
        f'<a href="{lang}/index.html" lang="{NAMES[lang][0]}">{t("book.title", lang)}</a>' for lang in LANGS
    )
    script = "location.replace((navigator.language.startsWith('zh') ? 'zh' : 'en') + '/index.html')"
    (out / "index.html").write_text(
        f'<!doctype html><html lang="zh-CN"><meta charset="utf-8"><title>{t("book.title", "zh")}</title>'
        f"<script>{script}</script><p>{links}</p></html>\n",
        encoding="utf-8",
    )


def main() -> int:
    """Build into `build/book`; what has to be mended goes to standard error, status 1."""
    out = ROOT / "build" / "book"
    try:
        build(out)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"book: {out.relative_to(ROOT)}/zh/index.html, {out.relative_to(ROOT)}/en/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
