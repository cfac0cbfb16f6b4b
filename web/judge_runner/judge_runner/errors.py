"""What went wrong in learner code, in words."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Mapping
from types import FrameType, TracebackType
from typing import Any

from judge.i18n import both

FILE = "submission.py"
"""The learner's file, as its code objects name it; the judge calls it the same."""

_MESSAGE = 500


def line_in(trace: TracebackType | None, filename: str = FILE) -> int | None:
    """The line of the innermost frame of the file, or None where it has no frame in the trace."""
    frame = frame_in(trace, filename)
    return frame[1] if frame else None


def frame_in(trace: TracebackType | None, filename: str = FILE) -> tuple[FrameType, int] | None:
    """The innermost frame of the file and its line."""
    frames = [each for each in traceback.walk_tb(trace) if each[0].f_code.co_filename == filename]
    return frames[-1] if frames else None


def told(error: BaseException, filename: str = FILE) -> dict[str, Any]:
    """The exception as the page shows it: the line, and a message in both languages that names it."""
    line = line_in(error.__traceback__, filename)
    if isinstance(error, SyntaxError) and error.filename == filename:
        line = error.lineno
    return {"line": line, "message": _words(error, line)}


def _words(error: BaseException, line: int | None) -> Mapping[str, str]:
    name = type(error).__name__[:100]
    absent = _not_in_the_tab(error)
    if absent is not None:
        return both("verdict.sample_raised", line=line, message=absent) if line is not None else absent
    if line is None:
        what = both("verdict.error_somewhere", name=name)
    elif isinstance(error, NotImplementedError) and _is_innermost(error):
        return both("verdict.error_unwritten", line=line)
    else:
        what = both("verdict.error_line", line=line, name=name)
    said = message_of(error)
    return both("verdict.error_said", error=what, said=said) if said else what


def _not_in_the_tab(error: BaseException) -> dict[str, str] | None:
    """The words of our torch for what only the real one has."""
    zh, en = getattr(error, "zh", None), getattr(error, "en", None)
    return {"zh": zh, "en": en} if type(zh) is type(en) is str else None


def _is_innermost(error: BaseException) -> bool:
    """Whether the learner's file raised it itself."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1].f_code.co_filename == FILE


def message_of(error: BaseException) -> str:
    """``str(error)``, cut, clean Unicode, and safe even when the learner's ``__str__`` is not."""
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
    except BaseException as inner:
        text = f"({type(inner).__name__} while asking for the message)"
    return str(text)[:_MESSAGE].encode("utf-8", "replace").decode()


def remember_source(text: str, filename: str = FILE) -> None:
    """So that a traceback that learner code prints itself shows its lines."""
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
