import torch

from minisgl.layers.base import BaseOP


def op(target, **attributes):
    """A layer with these attributes that loads by the target."""
    layer = type("Layer", (BaseOP,), {"load_state_dict": target})()
    for name, value in attributes.items():
        setattr(layer, name, value)
    return layer


def model(target):
    """The statement's example: norm.weight [2], proj.weight [2, 3], and a table that is no weight."""
    norm = op(target, weight=torch.zeros(2))
    proj = op(target, weight=torch.zeros(2, 3), _table=torch.zeros(4))
    return op(target, norm=norm, proj=proj)


def test_example(target):
    """题目里的例子：两个子模块
    The example: two children"""
    norm, proj = torch.ones(2), torch.ones(2, 3)
    state = {"proj.weight": proj, "norm.weight": norm}
    layer = model(target)
    layer.load_state_dict(state)
    assert layer.norm.weight is norm, (
        "属性换成字典里的那个张量。\nThe attribute becomes the dict's own tensor."
    )
    assert layer.proj.weight is proj, "次序由层决定，不由字典。\nThe layer gives the order, not the dict."
    assert state == {}, "装一个，取走一个。\nWhat is loaded is taken out."


def raised(layer, state):
    """The class of what loading raises, and what it says."""
    try:
        layer.load_state_dict(state)
    except Exception as error:
        return type(error), str(error)
    return None, ""


def test_one_is_missing(target):
    """少了一个
    One is missing"""
    error, _ = raised(model(target), {"norm.weight": torch.ones(2)})
    assert error is KeyError, "没有 `proj.weight`：KeyError。\nThere is no `proj.weight`: KeyError."


def test_one_too_many(target):
    """多了一个
    One too many"""
    state = {"norm.weight": torch.ones(2), "proj.weight": torch.ones(2, 3), "proj.bias": torch.ones(2)}
    error, said = raised(model(target), state)
    assert error is RuntimeError, "全部走完还剩一个：RuntimeError。\nOne is left at the end: RuntimeError."
    assert "proj.bias" in said, "消息里要有它的名字。\nThe message names it."


def test_another_shape(target):
    """形状不对
    Another shape"""
    error, said = raised(model(target), {"norm.weight": torch.ones(2), "proj.weight": torch.ones(3, 2)})
    assert error is ValueError, "`[3, 2]` 不是 `[2, 3]`：ValueError。\n`[3, 2]` is not `[2, 3]`: ValueError."
    assert "proj.weight" in said, "消息里要有它的名字。\nThe message names it."
