"""Hidden tests of 173 `residual_stream`."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, outcome
from judge.authoring.tensors import float32
from judge.harness.compare import same
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, Group, Mutant

GROUPS = [
    Group("first", "第一层，没有残差流", "the first layer, without a residual stream"),
    Group("later", "后面的层", "a later layer"),
    Group("stack", "几层连着算", "several layers in a row"),
]
_PARTS = ("input_layernorm", "self_attn", "post_attention_layernorm", "mlp")

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """18 calls; a layer's parts are maps by matrices of small whole numbers, which float32 has exactly."""
    found: list[Case] = []

    def numbers(rows: int, columns: int, most: int = 3) -> TensorData:
        values = [rng.choice([n for n in range(-most, most + 1) if n]) for _ in range(rows * columns)]
        return float32(values, [rows, columns])

    def add(group: str, tokens: int, size: int, layers: int) -> None:
        maps = [{part: numbers(size, size, 2) for part in _PARTS} for _ in range(layers)]
        residual = None if group == "first" or (group == "stack" and layers % 2) else numbers(tokens, size, 9)
        found.append(Case(group, {"maps": maps, "x": numbers(tokens, size, 9), "residual": residual}))

    for group in ("first", "later"):
        for tokens, size in ((1, 1), (1, 3), (2, 2), (rng.randrange(3, 6), 3), (1, 4), (4, 2)):
            add(group, tokens, size, 1)
    for layers in (2, 3, 2, 3, 2, 3):
        add("stack", rng.randrange(1, 4), 2, layers)
    return found


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """Each layer's calls of its parts, what it returned or raised; then the arguments."""

    def layer_of(maps):
        def norm(name):
            def forward(x, residual=None):
                calls.append(name)
                total = x if residual is None else x + residual
                return total @ maps[name], total

            return io.obj(forward=forward)

        def sublayer(name):
            def forward(x):
                calls.append(name)
                return x @ maps[name]

            return io.obj(forward=forward)

        return io.obj(
            input_layernorm=norm("input_layernorm"),
            self_attn=sublayer("self_attn"),
            post_attention_layernorm=norm("post_attention_layernorm"),
            mlp=sublayer("mlp"),
        )

    x, residual = case["x"], case["residual"]
    for maps in case["maps"]:
        calls = []
        layer = layer_of(maps)
        # a first layer is called without a residual stream, as the model's is
        result = (
            io.attempt(target, layer, x, residual) if residual is not None else io.attempt(target, layer, x)
        )
        io.emit([calls, result])
        value = result.get("value")
        if not isinstance(value, tuple) or len(value) != 2:
            break
        x, residual = value
    io.emit([case["x"], case["residual"]])


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Layer by layer: errors, the order of the parts, the residual stream, the output."""
    if not 0 < len(got) <= len(expected):
        return Broken(2, NO_RESULT)
    before = case.data["x"], case.data["residual"]
    for due, seen in zip(expected[:-1], got[:-1], strict=False):
        if not isinstance(seen, list) or len(seen) != 2:
            return Broken(2, NO_RESULT)
        if text := outcome(due[1], seen[1]):
            return Broken(2, text)
        broken = _check_calls(due[0], seen[0]) or _check_value(before, due[1]["value"], seen[1]["value"])
        if broken:
            return broken
        before = due[1]["value"]
    if len(got) != len(expected):
        return Broken(2, NO_RESULT)
    if not same(expected[-1], got[-1]):
        zh, en = "调用之后 `x` 或 `residual` 变了。", "`x` or `residual` is changed after the call."
        return Broken(6, {"zh": zh, "en": en})
    return None


def _check_calls(due: list[str], seen: Any) -> Broken | None:
    if same(due, seen):
        return None
    if isinstance(seen, list) and seen == [due[2], due[1], due[0], due[3]]:
        zh, en = "两个归一化用反了。", "The two norms are swapped."
        return Broken(5, {"zh": zh, "en": en})
    zh, en = "四个部分没有按次序各调用一次。", "The four parts are not called once each in their order."
    return Broken(1, {"zh": zh, "en": en})


def _check_value(before: Any, due: list[TensorData], seen: Any) -> Broken | None:
    if not isinstance(seen, list) or len(seen) != 2:
        zh, en = (
            "返回的不是输出和残差流两个张量。",
            "What is returned is not an output and a residual stream.",
        )
        return Broken(2, {"zh": zh, "en": en})
    if same(due, seen):
        return None
    if same(due[::-1], seen):
        zh, en = "返回的两个张量次序反了。", "The two tensors returned are in the wrong order."
        return Broken(3, {"zh": zh, "en": en})
    if same(due[1], seen[1]):
        if isinstance(seen[0], TensorData) and _sum(due) == _flat(seen[0]):
            zh = "残差流已经加进了输出，下一层的归一化还会再加一次。"
            en = "The stream is already added to the output, and the next layer's norm adds it again."
            return Broken(4, {"zh": zh, "en": en})
        zh, en = "残差流对，输出却不对。", "The residual stream is right, the output is not."
        return Broken(4, {"zh": zh, "en": en})
    x, residual = before
    if isinstance(seen[1], TensorData) and _flat(seen[1]) == (_sum([x, residual]) if residual else _flat(x)):
        zh, en = "残差流里没有注意力的输出。", "Attention's output is not in the residual stream."
        return Broken(3, {"zh": zh, "en": en})
    zh = "残差流不是 `x`、原来的残差流与注意力的输出之和。"
    en = "The residual stream is not the sum of `x`, the stream of before and attention's output."
    return Broken(2, {"zh": zh, "en": en})


def _flat(tensor: TensorData) -> list[float]:
    return memoryview(tensor.raw).cast("f").tolist() if tensor.dtype == "float32" else []


def _sum(parts: list[TensorData]) -> list[float]:
    return [a + b for a, b in zip(_flat(parts[0]), _flat(parts[1]), strict=True)]


# --- Mutants ------------------------------------------------------------------------------------

_STARTER = (Path(__file__).parents[2] / "chapters/exercises/173_residual_stream/starter.py").read_text(
    "utf-8"
)
_RIGHT = instead(_STARTER, "x, _ = ", "x, residual = ")

MUTANTS = [
    Mutant(
        "a",
        "starter",
        zh="第二个归一化给出的和没有人接，注意力的输出没进残差流。",
        en="Nobody takes the second norm's sum: attention's output falls out of the stream.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "return x, residual", "return x + residual, residual"),
        zh="下一个 norm 会加，这里重复了。",
        en="The next norm adds it; now it counts twice.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "self.input_layernorm", "self.swapped")
        .replace("self.post_attention_layernorm", "self.input_layernorm")
        .replace("self.swapped", "self.post_attention_layernorm"),
        zh="两个 norm 用反了，它们的权重不同。",
        en="Each sublayer has its own norm; their weights differ.",
    ),
    Mutant(
        "d",
        instead(
            _RIGHT,
            "    x, residual = self.input_layernorm",
            "    residual = x if residual is None else residual\n    x, residual = self.input_layernorm",
        ),
        zh="第一层没有残差流，拿 x 顶替它，x 就加了两遍。",
        en="The first layer has no stream; with x in its place, x counts twice.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, "return x, residual", "return residual, x"),
        zh="先输出，后残差流：下一层按这个次序收。",
        en="The output first, then the stream: the next layer takes them in this order.",
    ),
]
