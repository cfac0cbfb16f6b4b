"""Hidden tests of 171 `load_state_dict`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, outcome
from judge.authoring.tensors import float32, int32
from judge.harness.compare import same
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, Group, Mutant

GROUPS = [
    Group("flat", "一层", "one layer"),
    Group("nested", "两层和三层", "two and three levels"),
    Group("skipped", "有些属性不是权重", "attributes that are no weights"),
    Group("unfit", "缺少、形状或者 dtype 不对", "one is missing, of another shape or dtype"),
    Group("left_over", "有剩下的", "something is left"),
]
_NAMES = (
    "weight",
    "bias",
    "scale",
    "q_proj",
    "k_proj",
    "mlp",
    "norm",
    "layers",
    "embed",
    "head",
    "gate",
    "up",
)
Tree = list[list[Any]]
"""A layer: ``[name, kind, ...]`` for each attribute, in order. Kinds: "weight" (shape, whether on meta),
"child" (a tree), "stub" (a layer with a method of its own, whose calls are kept), "other" (a value)."""

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 28 models of one to three levels; weights have memory or are on meta; the dict is in no order."""
    found: list[Case] = []

    def add(
        group: str, tree: Tree, change: Callable[[dict[str, TensorData]], Any] | None = None, **more: Any
    ) -> None:
        prefix = more.get("prefix", "")
        state = _state(rng, tree, prefix)
        about = change(state) if change else None
        keys = list(state)
        rng.shuffle(keys)
        data = {"tree": tree, "prefix": prefix, "internal": more.get("internal", False)}
        found.append(Case(group, data | {"state": {key: state[key] for key in keys}}, outside=about))

    for count in (1, 2, rng.randrange(3, 6)):
        add("flat", _tree(rng, 1, count))
        add("flat", _tree(rng, 1, count), prefix="model.layers.0", internal=rng.random() < 0.5)
    for depth in (2, 2, 3, 3):
        add("nested", _tree(rng, depth, rng.randrange(2, 4)))
        add("nested", [*_tree(rng, depth, 2), ["last", "stub"]], prefix=rng.choice(("", "model")))
    for depth in (1, 2, 3):
        tree = _tree(rng, depth, 2)
        tree.insert(rng.randrange(len(tree)), ["_cos_sin", "weight", [3], False])
        tree.insert(rng.randrange(len(tree)), ["_parent", "child", _tree(rng, 1, 1)])
        add("skipped", [*tree, ["eps", "other", 0.5], ["names", "other", ["weight"]]])
        add("skipped", [["q_norm", "other", None], *tree])
    _add_errors(rng, add)
    return found


def _add_errors(rng: random.Random, add: Any) -> None:
    def missing(state: dict[str, TensorData]) -> str:
        key = rng.choice(list(state))
        del state[key]
        return key

    def reshaped(state: dict[str, TensorData]) -> str:
        key = rng.choice(list(state))
        shape = state[key].shape
        other = shapes.pop()(shape)
        count = 1
        for size in other:
            count *= size
        state[key] = float32([rng.uniform(-1, 1) for _ in range(count)], other)
        return key

    def retyped(state: dict[str, TensorData]) -> str:
        key = rng.choice(list(state))
        numbers = int32(range(len(state[key].raw) // 4))
        state[key] = TensorData("int32", state[key].shape, numbers.raw)
        return key

    def extra(count: int) -> Callable[[dict[str, TensorData]], str]:
        def change(state: dict[str, TensorData]) -> str:
            names = [f"{rng.choice(('', 'model.'))}extra_{rng.randrange(10**6)}" for _ in range(count)]
            state.update({name: float32([1.0], [1]) for name in names})
            return " ".join(names)

        return change

    shapes: list[Callable[[list[int]], list[int]]] = [  # the same number of elements, but once
        lambda shape: [*shape, 1],
        lambda shape: [size + 1 for size in shape],
        lambda shape: [1, *shape],
    ]
    for depth in (1, 2, 3):
        for change in (missing, reshaped, retyped):
            add("unfit", _tree(rng, depth, 2), change)
        add("left_over", _tree(rng, depth, 2), extra(rng.randrange(1, 3)))
    add("left_over", [], extra(2))
    add("left_over", _tree(rng, 2, 2), extra(1), prefix="model")
    add("left_over", _tree(rng, 2, 2), extra(2), prefix="model", internal=True)  # an inner call says nothing


def _tree(rng: random.Random, depth: int, count: int) -> Tree:
    """A layer with ``count`` attributes; weights alone at the lowest level."""
    tree: Tree = []
    for place, name in enumerate(rng.sample(_NAMES, count)):
        if depth > 1 and (place == 0 or rng.random() < 0.6):
            tree.append([name, "child", _tree(rng, depth - 1, rng.randrange(1, 3))])
        else:
            shape = [rng.randrange(2, 5) for _ in range(rng.randrange(1, 3))]
            tree.append([name, "weight", shape, rng.random() < 0.5])
    return tree


def _state(rng: random.Random, tree: Tree, prefix: str) -> dict[str, TensorData]:
    """A tensor for each weight of the tree."""
    state: dict[str, TensorData] = {}
    for name, kind, *more in tree:
        key = f"{prefix}.{name}" if prefix else name
        if name.startswith("_") or kind in ("other", "stub"):
            continue
        if kind == "child":
            state |= _state(rng, more[0], key)
        else:
            count = 1
            for size in more[0]:
                count *= size
            state[key] = float32([rng.uniform(-1, 1) for _ in range(count)], more[0])
    return state


# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """What came of the call and what an error says; each attribute; what is left; the calls of stubs."""
    import torch

    from minisgl.layers.base import BaseOP

    calls, messages = [], []

    class Layer(BaseOP):
        load_state_dict = target

    class Stub(BaseOP):
        def load_state_dict(self, state_dict, *, prefix="", _internal=False):
            calls.append([prefix, _internal, state_dict is state])

    def build(tree):
        layer = Layer()
        for name, kind, *more in tree:
            value = more[0] if more else None
            if kind == "weight":
                value = torch.zeros(more[0], device="meta" if more[1] else "cpu")
            elif kind == "child":
                value = build(more[0])
            elif kind == "stub":
                value = Stub()
            setattr(layer, name, value)
        return layer

    def load():
        try:
            return layer.load_state_dict(state, prefix=case["prefix"], _internal=case["internal"])
        except Exception as error:
            messages.append(str(error)[:2000])
            raise

    def look(layer, tree, prefix):
        for name, kind, *more in tree:
            key, value = f"{prefix}.{name}" if prefix else name, getattr(layer, name, None)
            if kind == "child":
                look(value, more[0], key)
            elif kind == "weight":
                device = str(getattr(value, "device", None))
                seen.append([key, value is given.get(key), device, None if device == "meta" else value])
            elif kind == "other":
                seen.append([key, value == more[0], "", None])

    state, layer, seen = case["state"], build(case["tree"]), []
    given = dict(state)
    io.emit(io.attempt(load))
    io.emit(messages)
    if messages:  # how far it came before the error is no rule
        return
    look(layer, case["tree"], case["prefix"])
    io.emit(seen)
    io.emit(sorted(str(key) for key in state))
    io.emit(calls)


# --- Outside again: the checker -----------------------------------------------------------------

_RULE_OF = {"KeyError": 2, "ValueError": 3, "RuntimeError": 6}


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors and what they say; if there was none, the attributes, the dict and the calls of children."""
    if not 0 < len(got) <= 5:
        return Broken(4, NO_RESULT)
    if text := outcome(expected[0], got[0]):
        return Broken(_error_rule(case, expected[0], got[0]), text)
    if len(got) != len(expected):
        return Broken(4, NO_RESULT)
    if "error" in expected[0]:
        return _check_message(case, expected[0]["error"], got[1])
    if got[0]["value"] is not None:
        return Broken(4, {"zh": "应当什么也不返回。", "en": "Nothing is to be returned."})
    return _check_attributes(expected[2], got[2]) or _check_rest(expected, got)


def _error_rule(case: Case, due: dict[str, Any], seen: Any) -> int:
    if "error" in due:
        return _RULE_OF[due["error"]]
    if case.group == "skipped":
        return 1
    error = seen.get("error") if isinstance(seen, dict) else None
    return _RULE_OF.get(error, 2) if isinstance(error, str) else 2


def _check_message(case: Case, error: str, messages: Any) -> Broken | None:
    said = " ".join(str(message) for message in messages) if isinstance(messages, list) else ""
    if all(name in said for name in case.outside.split()):
        return None
    zh, en = "错误消息里没有写出那个名字。", "The error's message does not name what is wrong."
    return Broken(_RULE_OF[error], {"zh": zh, "en": en})


def _check_attributes(due: list[list[Any]], seen: Any) -> Broken | None:
    if not isinstance(seen, list) or len(seen) != len(due):
        return Broken(4, NO_RESULT)
    for right, mine in zip(due, seen, strict=True):
        if same(right, mine):
            continue
        if not right[1] or not right[2]:  # what is skipped has to stay as it was
            zh, en = "一个不是权重的属性变了。", "An attribute that is no weight is changed."
            return Broken(1, {"zh": zh, "en": en})
        if isinstance(mine, list) and len(mine) == 4 and mine[2] == "meta":
            zh = "装载之后，有权重还是没有内存的 `meta` 张量。"
            en = "After loading, a weight is still a `meta` tensor without memory."
            return Broken(4, {"zh": zh, "en": en})
        zh = "有权重不是字典里的那个张量，而是另一个。"
        en = "A weight is not the dict's own tensor but another one."
        return Broken(4, {"zh": zh, "en": en})
    return None


def _check_rest(expected: list[Any], got: list[Any]) -> Broken | None:
    if not same(expected[4], got[4]):
        zh = "子模块的 `load_state_dict` 没有被正好调用一次，带着它的键和 `_internal=True`。"
        en = "A child's `load_state_dict` is not called once with its key and `_internal=True`."
        return Broken(5, {"zh": zh, "en": en})
    if not same(expected[3], got[3]):
        zh = "装好的没有从字典里取走，或者取走了别的。"
        en = "What was loaded is not taken out of the dict, or something else is."
        return Broken(2, {"zh": zh, "en": en})
    return None


# --- Mutants ------------------------------------------------------------------------------------

_RIGHT = """\
import torch

from minisgl.layers.base import BaseOP


def load_state_dict(self, state_dict, *, prefix="", _internal=False):
    for name, value in vars(self).items():
        if name.startswith("_"):
            continue
        key = f"{prefix}.{name}" if prefix else name
        if isinstance(value, torch.Tensor):
            new = state_dict.pop(key)
            if new.shape != value.shape or new.dtype != value.dtype:
                raise ValueError(f"{key}: another shape or dtype")
            setattr(self, name, new)
        elif isinstance(value, BaseOP):
            value.load_state_dict(state_dict, prefix=key, _internal=True)
    if not _internal and state_dict:
        raise RuntimeError(f"left over: {', '.join(state_dict)}")
"""

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "setattr(self, name, new)", "value.copy_(new)"),
        zh="meta 张量没有内存，往里面抄什么也留不下：要替换属性。",
        en="A meta tensor has no memory, and what is copied into it is lost: replace it.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, '        if name.startswith("_"):\n            continue\n', ""),
        zh="下划线开头的不是权重，检查点里也没有它。",
        en='A leading underscore means "not a weight": no checkpoint has it.',
    ),
    Mutant(
        "c",
        instead(_RIGHT, ", _internal=True)", ")"),
        zh="走完一个子模块时剩下的，其他子模块还要用：里层不要查。",
        en="What is left when one child is done, other children still need: no inner call looks.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "new.shape != value.shape or new.dtype", "new.numel() != value.numel() or new.dtype"),
        zh="个数相同还不够，形状要一样。",
        en="The same number of elements is not enough: the shape has to be the same.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, " or new.dtype != value.dtype", ""),
        zh="dtype 也要查：混进一个整数张量，后面的矩阵乘法才报错。",
        en="Look at the dtype, too; else an int tensor is noticed only by a later matrix product.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "state_dict.pop(key)", "state_dict[key]"),
        zh="装一个要取走一个，不然最后都算剩下的。",
        en="Take out what you load, or all of it counts as left at the end.",
    ),
    Mutant(
        "g",
        instead(_RIGHT, 'f"{prefix}.{name}" if prefix else name', "name"),
        zh="键要带上这一层的前缀：每一层都有一个 weight。",
        en="The key carries the layer's prefix: every layer has a weight.",
    ),
]
