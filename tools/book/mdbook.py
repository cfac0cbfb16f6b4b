"""Runs mdBook on the chapters of one language, with our preprocessor and our theme."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from judge.exercises import load_exercises
from judge.i18n import t
from tools.book.shell import template
from tools.book.site import ROOT, read_site


class BuildError(Exception):
    """The book cannot be built; the text says what has to be mended, with file and line."""


def run_mdbook(lang: str, root: Path, work: Path) -> Path:
    """The folder, below `work`, with mdBook's pages.

    Raises:
        BuildError: mdBook or the preprocessor refused; the text is what they said.
    """
    has_exercises = (root / "chapters" / "exercises").is_dir()
    exercises = load_exercises(root) if has_exercises else {}
    theme = work / f"theme-{lang}"
    theme.mkdir()
    (theme / "index.hbs").write_text(template(lang, len(exercises)), encoding="utf-8")
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
    done = subprocess.run(
        [str(Path(sys.executable).with_name("mdbook")), "build", str(root), "--dest-dir", str(target)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode:
        raise BuildError((done.stderr + done.stdout).strip())
    return target
