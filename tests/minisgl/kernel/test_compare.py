"""fast_compare_key against a loop."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from minisgl.kernel import fast_compare_key

IDS = st.lists(st.integers(0, 2), max_size=12)


def int32(ids: list[int]) -> torch.Tensor:
    return torch.tensor(ids, dtype=torch.int32)


@given(IDS, IDS)
def test_first_difference(a: list[int], b: list[int]) -> None:
    pairs = zip(a, b, strict=False)
    expected = next((i for i, (x, y) in enumerate(pairs) if x != y), min(len(a), len(b)))
    assert fast_compare_key(int32(a), int32(b)) == expected


@pytest.mark.parametrize(
    ("a", "b"),
    [(torch.zeros(2, 1), torch.zeros(2)), (torch.zeros(2), int32([0, 0])), (torch.tensor(1.0),) * 2],
)
def test_other_keys_are_refused(a: torch.Tensor, b: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="1-D"):
        fast_compare_key(a, b)
