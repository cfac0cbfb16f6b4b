"""What learners rewrite in chapters 2 and 3, held to its contract, which tells known mistakes apart."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from minisgl.layers import BaseOP, StateLessOP, apply_rope, yarn_cos_sin
from minisgl.layers.rotary import inverse_frequencies
from minisgl.models.decoder import DecoderLayer

Function = Callable[..., object]


def check_apply_rope(function: Function) -> None:
    generator = torch.Generator().manual_seed(0)
    for dim, dtype in ((4, torch.float32), (6, torch.float32), (16, torch.bfloat16)):
        x = torch.randn(5, 3, dim, generator=generator).to(dtype)
        positions = torch.tensor([7, 0, 7, 2, 31], dtype=torch.int32)
        angles = torch.rand(32, dim // 2, generator=generator) * 6
        table = torch.cat((angles.cos(), angles.sin()), dim=-1)
        before = x.clone(), positions.clone(), table.clone()
        out = function(x, positions, table)
        assert out.dtype == dtype and out.shape == x.shape
        for token, position in enumerate(positions.tolist()):
            for head in range(3):
                for i in range(dim // 2):
                    a, b = x[token, head, i].float(), x[token, head, i + dim // 2].float()
                    cos, sin = table[position, i], table[position, i + dim // 2]
                    for got, expected in (
                        (out[token, head, i], a * cos - b * sin),
                        (out[token, head, i + dim // 2], b * cos + a * sin),
                    ):
                        torch.testing.assert_close(got, expected.to(dtype), rtol=1e-5, atol=1e-6)
        assert all(torch.equal(a, b) for a, b in zip((x, positions, table), before, strict=True))


def interleaved(x, positions, cos_sin):
    cos, sin = cos_sin[positions.long()].unsqueeze(1).chunk(2, dim=-1)
    a, b = x.float()[..., ::2], x.float()[..., 1::2]
    return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2).to(x.dtype)


def backwards(x, positions, cos_sin):
    return apply_rope(
        x, positions, cos_sin * torch.tensor([1.0, -1.0]).repeat_interleave(cos_sin.shape[1] // 2)
    )


def by_row(x, positions, cos_sin):
    return apply_rope(x, torch.arange(len(x)), cos_sin)


def check_yarn(function: Function) -> None:
    table = function(64, 4, 10000.0, 4.0, 1024)
    assert table.dtype == torch.float32 and table.shape == (4, 64)
    assert table[0, 0].item() == pytest.approx(1.138629, rel=1e-6) and table[0, 32].item() == 0
    for factor in (1.0, 2.0, 4.0, 8.0):
        for given in (None, 1.0, 0.8):
            for base in (100.0, 10000.0, 1e6):
                for head_dim, original, fast, slow in ((16, 64, 32.0, 1.0), (128, 4096, 8.0, 2.0)):
                    table = function(
                        head_dim,
                        40,
                        base,
                        factor,
                        original,
                        beta_fast=fast,
                        beta_slow=slow,
                        attention_factor=given,
                    )
                    expected = yarn_by_formula(head_dim, 40, base, factor, original, fast, slow, given)
                    torch.testing.assert_close(table, expected, rtol=1e-5, atol=2e-5)


def yarn_by_formula(dim, count, base, factor, original, fast, slow, given):
    def d(turns: float) -> float:
        return dim * math.log(original / (2 * math.pi * turns)) / (2 * math.log(base))

    low, high = max(math.floor(d(fast)), 0), min(math.ceil(d(slow)), dim - 1)
    scale = given if given is not None else (0.1 * math.log(factor) + 1 if factor > 1 else 1)
    rows = []
    for position in range(count):
        angles = []
        for i in range(dim // 2):
            ramp = min(max((i - low) / max(high - low, 0.001), 0), 1)
            inverse = base ** (-2 * i / dim)
            angles.append(position * (inverse / factor * ramp + inverse * (1 - ramp)))
        rows.append([math.cos(a) * scale for a in angles] + [math.sin(a) * scale for a in angles])
    return torch.tensor(rows, dtype=torch.float32)


def without_factor(*args, attention_factor=None, **settings):
    return yarn_cos_sin(
        *args, attention_factor=1.0 if attention_factor is None else attention_factor, **settings
    )


def cosines_only(*args, **settings):
    table, plain = (
        yarn_cos_sin(*args, **settings),
        without_factor(*args, **{**settings, "attention_factor": 1.0}),
    )
    return torch.cat((table.chunk(2, dim=-1)[0], plain.chunk(2, dim=-1)[1]), dim=-1)


def given_factor_ignored(*args, attention_factor=None, **settings):
    return yarn_cos_sin(*args, **settings)


class Leaf(BaseOP):
    def __init__(self, size: int) -> None:
        self.weight = torch.empty(size, device="meta")
        self._cache = torch.zeros(1)
        self.number, self.nothing = size, None


class Table(StateLessOP):
    def __init__(self) -> None:
        self.table = torch.zeros(3)


class Tree(BaseOP):
    def __init__(self, depth: int) -> None:
        self.norm = torch.empty(2, dtype=torch.bfloat16, device="meta")
        self._hidden = Leaf(9)
        self.left = Tree(depth - 1) if depth else Leaf(3)
        self.right, self.table = Leaf(4), Table()


def check_load_state_dict(function: Function) -> None:
    class Loaded(Tree):
        load_state_dict = function

    for cls in (Tree, Leaf):  # children, too
        cls.load_state_dict = function
    try:
        for depth in (0, 1, 2):
            check_loading(Loaded, depth)
    finally:
        for cls in (Tree, Leaf):
            del cls.load_state_dict


def check_loading(make: Callable[[int], Tree], depth: int) -> None:
    names = ["norm", "right.weight", "left.weight"]
    for _ in range(depth):
        names = ["norm", "right.weight", *(f"left.{name}" for name in names)]

    def tensors() -> dict[str, torch.Tensor]:
        sizes = {"norm": 2, "right.weight": 4, "left.weight": 3}
        found = {name: next(size for end, size in sizes.items() if name.endswith(end)) for name in names}
        return {
            name: torch.rand(size, dtype=torch.bfloat16 if name.endswith("norm") else torch.float32)
            for name, size in found.items()
        }

    tree, given = make(depth), tensors()
    hidden, cache = tree._hidden, tree.right._cache
    state = dict(given)
    tree.load_state_dict(state)
    assert state == {}
    for name, tensor in given.items():
        owner = tree
        for part in name.split(".")[:-1]:
            owner = getattr(owner, part)
        assert getattr(owner, name.rpartition(".")[2]) is tensor
    assert tree._hidden is hidden and hidden.weight.is_meta and tree.right._cache is cache
    assert (tree.right.number, tree.right.nothing) == (4, None) and tree.table.table.tolist() == [0, 0, 0]

    prefixed = {f"a.b.{name}": tensor for name, tensor in tensors().items()}
    make(depth).load_state_dict(prefixed, prefix="a.b")
    assert prefixed == {}

    for name in names:
        lacking = tensors()
        del lacking[name]
        with pytest.raises(KeyError) as missing:
            make(depth).load_state_dict(lacking)
        assert missing.value.args == (name,)
        for wrong in (torch.rand(7), given[name].double(), given[name].unsqueeze(0)):
            with pytest.raises(ValueError, match=name.replace(".", r"\.")):
                make(depth).load_state_dict({**tensors(), name: wrong})
    with pytest.raises(RuntimeError, match=r"left\.other.*another"):
        make(depth).load_state_dict({**tensors(), "left.other": torch.rand(1), "another": torch.rand(1)})
    # An inner call leaves to its caller what is not its own.
    rest = {**tensors(), "another": torch.rand(1)}
    make(depth).load_state_dict(rest, _internal=True)
    assert list(rest) == ["another"]


def loading(*, copies: bool = False, takes_hidden: bool = False, checks_inside: bool = False) -> Function:
    def load_state_dict(self, state_dict, *, prefix="", _internal=False):
        for name, value in vars(self).items():
            if name.startswith("_") and not takes_hidden:
                continue
            key = f"{prefix}.{name}" if prefix else name
            if isinstance(value, torch.Tensor):
                new = state_dict.pop(key)
                if new.shape != value.shape or new.dtype != value.dtype:
                    raise ValueError(key)
                if copies:
                    value.copy_(new)
                else:
                    setattr(self, name, new)
            elif isinstance(value, BaseOP):
                value.load_state_dict(state_dict, prefix=key, _internal=True)
        if state_dict and (checks_inside or not _internal):
            raise RuntimeError(", ".join(state_dict))

    return load_state_dict


class Linear:
    """A stand-in sublayer: a distinct map each, so that any wrong order shows."""

    def __init__(self, factor: float, shift: float) -> None:
        self.factor, self.shift = factor, shift

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor + self.shift


class LinearNorm(Linear):
    def forward(self, x: torch.Tensor, residual: torch.Tensor | None = None):
        total = x if residual is None else x + residual
        return super().forward(total), total


def check_residual_stream(function: Function) -> None:
    layer = DecoderLayer.__new__(DecoderLayer)
    layer.input_layernorm, layer.self_attn = LinearNorm(2, 1), Linear(3, 2)
    layer.post_attention_layernorm, layer.mlp = LinearNorm(5, 3), Linear(7, 4)
    x, residual = torch.tensor([[1.0, 10.0]]), torch.tensor([[100.0, 1000.0]])
    for given in (residual, None):
        stream = x if given is None else x + given
        after_attention = stream + (stream * 2 + 1) * 3 + 2
        out, new_residual = function(layer, x, given)
        assert torch.equal(new_residual, after_attention)
        assert torch.equal(out, (after_attention * 5 + 3) * 7 + 4)
    assert torch.equal(function(layer, x)[0], function(layer, x, None)[0])
    assert x.tolist() == [[1, 10]] and residual.tolist() == [[100, 1000]]


def residual_lost(self, x, residual=None):
    x, residual = self.input_layernorm.forward(x, residual)
    x, _ = self.post_attention_layernorm.forward(self.self_attn.forward(x), residual)
    return self.mlp.forward(x), residual


def residual_twice(self, x, residual=None):
    x, residual = DecoderLayer.forward(self, x, residual)
    return x + residual, residual


def norms_swapped(self, x, residual=None):
    x, residual = self.post_attention_layernorm.forward(x, residual)
    x, residual = self.input_layernorm.forward(self.self_attn.forward(x), residual)
    return self.mlp.forward(x), residual


CONTRACTS = {
    "apply_rope": (check_apply_rope, apply_rope, [interleaved, backwards, by_row]),
    "yarn_cos_sin": (check_yarn, yarn_cos_sin, [without_factor, cosines_only, given_factor_ignored]),
    "load_state_dict": (
        check_load_state_dict,
        BaseOP.load_state_dict,
        [loading(copies=True), loading(takes_hidden=True), loading(checks_inside=True)],
    ),
    "DecoderLayer.forward": (
        check_residual_stream,
        DecoderLayer.forward,
        [residual_lost, residual_twice, norms_swapped],
    ),
}


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_engine_keeps_the_contract(name: str) -> None:
    check, function, _ = CONTRACTS[name]
    check(function)


@pytest.mark.parametrize("name", CONTRACTS)
@pytest.mark.parametrize("mistake", [0, 1, 2])
def test_the_contract_tells_mistakes_apart(name: str, mistake: int) -> None:
    check, _, mistakes = CONTRACTS[name]
    with pytest.raises((AssertionError, KeyError, RuntimeError, NotImplementedError)):
        check(mistakes[mistake])


def test_a_right_loader_of_other_text_is_accepted() -> None:
    check_load_state_dict(loading())


def test_the_slowest_pair_of_yarn_turns_slower() -> None:
    """Far beyond the original context: position 40,000 of a model that was trained on 1,024."""
    table = yarn_cos_sin(64, 40001, 10000.0, 4.0, 1024)
    angle = 40000 * inverse_frequencies(64, 10000.0)[-1].item() / 4
    assert table[40000, 31].item() == pytest.approx(math.cos(angle) * (0.1 * math.log(4) + 1), abs=1e-3)
