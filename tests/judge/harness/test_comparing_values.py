"""Values are the same only with exact types, dtypes and shapes, and floats within tolerance."""

from __future__ import annotations

import math

import pytest
import torch

from judge.harness.compare import check_same, close, difference, same
from judge.sandbox import Opaque
from judge.sandbox.protocol import arrived

SAME = [
    (None, None),
    (3, 3),
    (True, True),
    ("a", "a"),
    (1.0, 1.0 + 9e-6),
    (0.0, 9e-7),
    (math.inf, math.inf),
    (-0.0, 0.0),
    ([1, [2, {"a": 3}]], [1, [2, {"a": 3}]]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (torch.tensor([1, 2], dtype=torch.int32), torch.tensor([1, 2], dtype=torch.int32)),
    (torch.tensor([1.0, math.inf]), torch.tensor([1.0 + 5e-6, math.inf])),
    (torch.empty(0, 3), torch.empty(0, 3)),
    ({"error": "ValueError"}, {"error": "ValueError"}),
]

DIFFERENT = [
    (3, 4),
    (1, True),
    (True, 1),
    (1, 1.0),
    (1.0, 1),
    ("1", 1),
    (None, False),
    (1.0, 1.0 + 2e-5),
    (0.0, 2e-6),
    (math.nan, math.nan),
    (1.0, math.nan),
    (math.inf, -math.inf),
    (math.inf, 1e308),
    (1e308, math.inf),
    ([1], [1, 1]),
    ([], None),
    ({"a": 1}, {"a": 2}),
    ({"a": 1}, {"b": 1}),
    ({"a": 1}, {"a": 1, "b": 1}),
    (torch.tensor([1], dtype=torch.int32), torch.tensor([1], dtype=torch.int64)),
    (torch.tensor([1]), torch.tensor([[1]])),
    (torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float64)),
    (torch.tensor([math.nan]), torch.tensor([math.nan])),
    (torch.tensor([1.0]), torch.tensor([1.0 + 1e-4])),
    (torch.tensor([math.inf]), torch.tensor([-math.inf])),
    (torch.tensor(1), 1),
    ({"value": 1}, {"error": "ValueError"}),
    ({"error": "ValueError"}, {"value": 1}),
    ({"error": "ValueError"}, {"error": "TypeError"}),
]


@pytest.mark.parametrize("pair", SAME, ids=repr)
def test_the_same(pair):
    pair = arrived(pair)
    assert same(*pair)
    assert check_same([pair[0]], [pair[1]], 1) is None


@pytest.mark.parametrize("pair", DIFFERENT, ids=repr)
def test_different(pair):
    pair = arrived(pair)
    text = difference(*pair)
    assert text is not None and text["zh"] and text["en"]
    broken = check_same([pair[0]], [pair[1]], 7)
    assert broken is not None and broken.rule == 7


def test_what_cannot_travel_equals_nothing():
    sent = arrived([object()])
    assert isinstance(sent[0], Opaque)
    assert not same(sent, sent)


def test_an_ended_call_is_told_by_its_exception():
    assert difference({"value": 1}, {"error": "KeyError"})["en"] == (
        "The input is right, and yet the call raises KeyError."
    )
    assert "ValueError" in difference({"error": "ValueError"}, {"value": 1})["zh"]


def test_no_value_is_named():
    text = difference([12345], [54321])
    assert not any(number in word for number in ("12345", "54321") for word in text.values())


def test_close_is_one_sided_about_nan():
    assert not close(0.0, math.nan) and not close(math.nan, 0.0)
