"""Loading weights by name."""

from __future__ import annotations

import pytest
import torch

from minisgl.layers import BaseOP, OPList, StateLessOP


class Leaf(BaseOP):
    def __init__(self, size: int, has_bias: bool = True) -> None:
        self.weight = torch.empty(size, device="meta")
        self.bias = torch.empty(1, device="meta") if has_bias else None
        self._table = torch.zeros(2)
        self.size = size


class Table(StateLessOP):
    def __init__(self) -> None:
        self.table = torch.ones(2)


class Tree(BaseOP):
    def __init__(self) -> None:
        self.first = Leaf(2)
        self.table = Table()
        self.layers = OPList([Leaf(3, has_bias=False), Leaf(4, has_bias=False)])


SHAPES = {"first.weight": 2, "first.bias": 1, "layers.0.weight": 3, "layers.1.weight": 4}


def tensors() -> dict[str, torch.Tensor]:
    return {name: torch.rand(size) for name, size in SHAPES.items()}


def test_names() -> None:
    assert {name: len(weight) for name, weight in Tree().state_dict().items()} == SHAPES


def test_weights_become_the_given_tensors() -> None:
    tree, given = Tree(), tensors()
    state = dict(given)
    tree.load_state_dict(state)
    assert state == {}, "taken out, so that nobody else keeps them alive"
    assert tree.first.weight is given["first.weight"]
    assert tree.layers.op_list[1].weight is given["layers.1.weight"]
    assert tree.first._table.tolist() == [0, 0]
    assert tree.table.table.tolist() == [1, 1]
    assert tree.first.size == 2


def test_missing_weight() -> None:
    state = tensors()
    del state["layers.1.weight"]
    with pytest.raises(KeyError, match=r"layers\.1\.weight"):
        Tree().load_state_dict(state)


@pytest.mark.parametrize("wrong", [torch.rand(5), torch.rand(3, 1), torch.rand(3).half()])
def test_wrong_shape_or_dtype(wrong: torch.Tensor) -> None:
    with pytest.raises(ValueError, match=r"layers\.0\.weight"):
        Tree().load_state_dict({**tensors(), "layers.0.weight": wrong})


def test_left_over_weights_are_named() -> None:
    with pytest.raises(RuntimeError, match=r"layers\.2\.weight, other"):
        Tree().load_state_dict({**tensors(), "layers.2.weight": torch.rand(1), "other": torch.rand(1)})
    with pytest.raises(RuntimeError, match=r"table\.table"):
        Table().load_state_dict({"table.table": torch.rand(2)})


def test_prefix() -> None:
    leaf, state = Leaf(2), {"a.b.weight": torch.rand(2), "a.b.bias": torch.rand(1)}
    weight = state["a.b.weight"]
    leaf.load_state_dict(state, prefix="a.b")
    assert leaf.weight is weight
    assert list(leaf.state_dict(prefix="x")) == ["x.weight", "x.bias"]


def test_list_is_iterable() -> None:
    ops = OPList([Leaf(1), Leaf(2)])
    assert len(ops) == 2
    assert [op.size for op in ops] == [1, 2]
