from types import SimpleNamespace

import torch


def layer(first=1.0, attention=2.0, second=1.0, mlp=3.0):
    """A layer whose norms and sublayers multiply by these numbers."""

    def norm(scale):
        def forward(x, residual=None):
            total = x if residual is None else x + residual
            return total * scale, total

        return SimpleNamespace(forward=forward)

    return SimpleNamespace(
        input_layernorm=norm(first),
        self_attn=SimpleNamespace(forward=lambda x: x * attention),
        post_attention_layernorm=norm(second),
        mlp=SimpleNamespace(forward=lambda x: x * mlp),
    )


def one(number):
    """One token, one dimension."""
    return torch.tensor([[number]])


def test_example(target):
    """题目里的例子：x 是 1，残差流是 10
    The example: x is 1, the residual stream 10"""
    x, residual = target(layer(), one(1.0), one(10.0))
    assert x.item() == 99.0, "mlp 的输出，还没有加到残差流上。\nmlp's output, not yet added to the stream."
    assert residual.item() == 33.0, (
        "残差流里有注意力的 22：10 + 1 + 22。\nThe stream holds attention's 22: 10 + 1 + 22."
    )


def test_first_layer(target):
    """第一层：还没有残差流
    The first layer: there is no residual stream yet"""
    x, residual = target(layer(), one(4.0))
    assert (x.item(), residual.item()) == (36.0, 12.0), (
        "第一个和就是 x：4，再加注意力的 8。\nThe first sum is x itself, 4, and then attention's 8."
    )


def test_each_sublayer_has_its_own_norm(target):
    """两个归一化不一样
    The norms differ"""
    x, residual = target(layer(first=5.0, second=0.5), one(1.0), one(1.0))
    assert residual.item() == 22.0, "和是 2，注意力给出 2 · 5 · 2。\nThe sum is 2, attention gives 2 · 5 · 2."
    assert x.item() == 33.0, "和是 22，mlp 给出 22 · 0.5 · 3。\nThe sum is 22, mlp gives 22 · 0.5 · 3."
