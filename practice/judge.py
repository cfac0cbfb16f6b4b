"""The learner's command line: `python practice/judge.py 192` judges `practice/workspace/192_cache_req.py`.

This file only finds the right Python; the commands themselves are in the package `judge.cli`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def environment_python() -> Path:
    """The interpreter of the project's environment, whether it exists or not."""
    return ROOT / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def prepare_path() -> None:
    """Put the repository first on `sys.path`, and take this file's folder off it: it would shadow `judge`."""
    here = Path(__file__).resolve().parent
    sys.path[:] = [str(ROOT)] + [
        entry for entry in sys.path if Path(entry or ".").resolve() not in (here, ROOT)
    ]


def main() -> int:
    if Path(sys.prefix).resolve() != (ROOT / ".venv").resolve():
        python = environment_python()
        if not python.exists():
            print(
                f"没有找到 {python.relative_to(ROOT)}。先在仓库根目录运行：make setup\n"
                f"{python.relative_to(ROOT)} was not found. First run in the repository's folder: make setup",
                file=sys.stderr,
            )
            return 2
        os.execv(python, [str(python), str(Path(__file__).resolve()), *sys.argv[1:]])
    prepare_path()
    try:
        from judge.cli import main as command_line
    except ImportError as error:
        print(
            f"环境不完整（{error}）。在仓库根目录运行：make setup\n"
            f"The environment is incomplete ({error}). Run in the repository's folder: make setup",
            file=sys.stderr,
        )
        return 3
    return command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
