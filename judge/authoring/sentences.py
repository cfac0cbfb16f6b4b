"""Sentences of checkers: pages in words, a result against an exception."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from judge.harness.compare import error_name
from judge.types import Broken, Refused, Text

SHOWN = 6
NO_RESULT: Text = {"zh": "这次调用没有留下结果。", "en": "The call left no result."}


def refuse(rule: int, zh: str, en: str) -> NoReturn:
    """End the case as wrong: a trusted object says so of a call whose arguments break a rule."""
    raise Refused(Broken(rule, {"zh": zh, "en": en}))


def is_int(value: object) -> bool:
    """Whether ``value`` is an int in the sense of the course: a bool is none."""
    return type(value) is int


def listing(numbers: Iterable[int], lang: str) -> str:
    """Numbers as words, ascending: "8", "12 and 16", "4, 8 and 12"; at most ``SHOWN`` of them are named."""
    found = sorted(set(numbers))
    words = [str(number) for number in found[:SHOWN]]
    more = len(found) - len(words)
    comma, last = ("、", " 和 ") if lang == "zh" else (", ", " and ")
    if more:
        return comma.join(words) + (f" 等 {len(found)} 个" if lang == "zh" else f" and {more} more")
    return last.join([comma.join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def with_pages(zh: str, en: str, numbers: Iterable[int]) -> Text:
    """The sentence in both languages, ``{}`` filled with the numbers."""
    found = list(numbers)
    return {"zh": zh.format(listing(found, "zh")), "en": en.format(listing(found, "en"))}


def outcome(expected: dict[str, Any], got: Any) -> Text | None:
    """Compare how two calls ended, as ``io.attempt`` tells it; None when both returned or raised the same.

    ``expected`` is ``{"value": ...}`` or ``{"error": "ValueError"}``. The values are left to the caller.
    """
    due = expected.get("error")
    seen = got.get("error") if isinstance(got, dict) else None
    if not isinstance(got, dict) or not ("value" in got or isinstance(seen, str)):
        return dict(NO_RESULT)
    if due is seen or (isinstance(seen, str) and due == seen):
        return None
    if due is None:
        return {
            "zh": f"输入没有错，调用却抛出了 {error_name(seen)}。",
            "en": f"The input is right, and yet the call raises {error_name(seen)}.",
        }
    if seen is None:
        return {
            "zh": f"这个输入应当抛出 {due}，调用却返回了值。",
            "en": f"This input is to raise {due}; the call returns a value instead.",
        }
    return {
        "zh": f"这个输入应当抛出 {due}，得到的是 {error_name(seen)}。",
        "en": f"This input is to raise {due}; what came is {error_name(seen)}.",
    }


def broken_end(expected: list[Any], got: list[Any], rule: int) -> Broken | None:
    """Of a drive that emits one attempt and then other things: None when it went to its end as is due."""
    if len(got) != len(expected):
        return Broken(rule, NO_RESULT)
    text = outcome(expected[0], got[0])
    return Broken(rule, text) if text else None
