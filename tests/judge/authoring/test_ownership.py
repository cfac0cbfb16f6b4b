"""Each way to lose, double or mix up a page has its own sentence."""

from __future__ import annotations

import pytest

from judge.authoring.ownership import Ownership
from judge.authoring.tensors import int32, int32_rows
from judge.sandbox.tensors import TensorData

DUE_TABLE = int32_rows([[0, 1, 2, 3, 12, 13], [0, 1, 2, 3, 16, 17], [9, 9, 9, 9, 9, 9]])
DUE_FREE = int32([4, 8, 20])
OWN_COPY = int32_rows([[0, 1, 2, 3, 12, 13], [8, 9, 10, 11, 16, 17], [9, 9, 9, 9, 9, 9]])
ELSEWHERE = int32_rows([[0, 1, 2, 3, 12, 13], [0, 1, 2, 3, 17, 16], [9, 9, 9, 9, 9, 9]])


def owners() -> Ownership:
    """Two rows of 6 tokens that are read, page 0 in the cache, pages of 4 tokens."""
    return Ownership(page_size=4, reading={0: 6, 1: 6}, cached={0, 1, 2, 3}, row_rule=3, page_rule=4)


@pytest.mark.parametrize(
    ("table", "free", "rule", "text"),
    [
        (DUE_TABLE, [20, 4, 8], None, None),
        (OWN_COPY, [4, 8, 20], 3, "A row that is still read names free pages: 8."),
        (DUE_TABLE, [0, 4, 8, 20], 4, "Pages of the prefix cache are in the free list, too: 0."),
        (DUE_TABLE, [4, 20], 4, "One page has no owner after the call: 8."),
        (DUE_TABLE, [], 4, "Pages have no owner after the call: 4, 8 and 20."),
        (
            OWN_COPY,
            [4, 20],
            4,
            "The cache has the same prefix, and yet pages of the own copy are kept: 8.",
        ),
        (DUE_TABLE, [4, 8, 8, 20], 4, "Pages given back twice: 8."),
        (DUE_TABLE, [4, 8, 9, 20], 4, "Free slots that begin no page: 9."),
        (DUE_TABLE, [4, 8, 20, 24], 4, "Pages were given back that do not belong to this request: 24."),
        (ELSEWHERE, [4, 8, 20], 3, "A row that is still read names locations where its KV is not."),
    ],
)
def test_sentences(table: TensorData, free: list[int], rule: int | None, text: str | None) -> None:
    broken = owners().check((DUE_TABLE, DUE_FREE), table, int32(free))
    assert (broken.rule, broken.text["en"]) == (rule, text) if broken else rule is None


def test_a_row_that_nobody_reads_may_hold_anything() -> None:
    table = int32_rows([*DUE_TABLE.tolist()[:2], [4] * 6])
    assert owners().check((DUE_TABLE, DUE_FREE), table, DUE_FREE) is None


def test_pages_of_the_cache_are_not_free() -> None:
    knowing = owners()
    knowing.reading.clear()
    broken = knowing.check((DUE_TABLE, DUE_FREE), DUE_TABLE, int32([0, 4, 8, 20]))
    assert broken and "prefix cache are in the free list, too: 0" in broken.text["en"]


@pytest.mark.parametrize(
    ("table", "free"),
    [
        (DUE_TABLE, [4, 8, 20]),
        (DUE_TABLE, None),
        (DUE_TABLE, TensorData("int64", [1], bytes(8))),
        (TensorData("int64", [3, 6], bytes(144)), DUE_FREE),
        (int32_rows(DUE_TABLE.tolist()[:2]), DUE_FREE),
        (DUE_TABLE, int32_rows([[4], [8], [20]])),
    ],
)
def test_things_of_another_kind(table: object, free: object) -> None:
    broken = owners().check((DUE_TABLE, DUE_FREE), table, free)
    assert broken and broken.rule == 4 and "int32" in broken.text["en"]
