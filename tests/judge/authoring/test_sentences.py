"""Pages in words, and how two calls ended."""

from __future__ import annotations

import pytest

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, listing, outcome, with_pages


@pytest.mark.parametrize(
    ("numbers", "zh", "en"),
    [
        ([8], "8", "8"),
        ([16, 12, 16], "12 和 16", "12 and 16"),
        ([4, 12, 8], "4、8 和 12", "4, 8 and 12"),
        (range(0, 36, 4), "0、4、8、12、16、20 等 9 个", "0, 4, 8, 12, 16, 20 and 3 more"),
        ([], "", ""),
    ],
)
def test_listing(numbers: list[int], zh: str, en: str) -> None:
    assert (listing(numbers, "zh"), listing(numbers, "en")) == (zh, en)


def test_with_pages_fills_both() -> None:
    assert with_pages("页：{}。", "Pages: {}.", iter([4, 0])) == {
        "zh": "页：0 和 4。",
        "en": "Pages: 0 and 4.",
    }


VALUE, ERROR = {"value": 1}, {"error": "ValueError"}


@pytest.mark.parametrize(
    ("expected", "got", "part"),
    [
        (VALUE, {"value": 2}, None),
        (VALUE, {"value": None}, None),
        (ERROR, {"error": "ValueError"}, None),
        (VALUE, ERROR, "raises ValueError"),
        (ERROR, VALUE, "returns a value instead"),
        (ERROR, {"error": "IndexError"}, "what came is IndexError"),
        (ERROR, {"error": "Seen [7, 1, 3]"}, "what came is Exception."),
        (VALUE, {"error": "Seen [7, 1, 3]"}, "the call raises Exception."),
        (VALUE, {"error": 3}, NO_RESULT["en"]),
        (ERROR, None, NO_RESULT["en"]),
        (VALUE, [1], NO_RESULT["en"]),
    ],
)
def test_outcome(expected: dict[str, object], got: object, part: str | None) -> None:
    text = outcome(expected, got)
    assert (text is None) if part is None else (text is not None and part in text["en"] and text["zh"])


def test_instead_wants_one_place() -> None:
    assert instead("a b", "b", "c") == "a c"
    for code in ("a", "b b"):
        with pytest.raises(ValueError, match="occurs"):
            instead(code, "b", "c")
