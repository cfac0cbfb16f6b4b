"""What a run may have changed of the interpreter is put back before the next one."""

from __future__ import annotations

import builtins
import gc
import sys
from typing import Any


class CleanSlate:
    """Remembers how the interpreter was, and makes it so again."""

    def __init__(self) -> None:
        self._builtins: dict[str, Any] = dict(vars(builtins))
        self._path = list(sys.path)
        self._recursion = sys.getrecursionlimit()
        self._streams = sys.stdout, sys.stderr, sys.stdin

    def restore(self) -> None:
        """Names of learner modules, builtins, hooks and streams."""
        for name in ("submission", "__main__.submission"):
            sys.modules.pop(name, None)
        current = vars(builtins)
        for name in current.keys() - self._builtins.keys():
            del current[name]
        current.update(self._builtins)
        sys.path[:] = self._path
        sys.setrecursionlimit(self._recursion)
        sys.settrace(None)
        sys.setprofile(None)
        sys.stdout, sys.stderr, sys.stdin = self._streams
        gc.enable()
        gc.collect()
