"""Hidden tests of 172 `merge_projections`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, is_int, outcome
from judge.authoring.tensors import float32
from judge.harness.compare import same
from judge.jobs import P
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("in_order", "各份依次到来", "parts arrive in order"),
    Group("any_order", "次序任意，各层交错", "any order, layers interleaved"),
    Group("biases", "有偏置，有专家", "biases and experts"),
    Group("memory", "很多层，不留旧的", "many layers, nothing old is kept"),
    Group("unfinished", "少了几份", "parts are missing"),
]
_QKV, _GATE_UP = ("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj")
_KEPT = 3
"""Parts of finished groups that may still be alive: local variables name those of the last one."""
Pairs = list[list[Any]]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 24 checkpoints of one to nine layers."""
    found: list[Case] = []

    def add(group: str, pairs: Pairs) -> None:
        found.append(Case(group, {"pairs": pairs}))

    add("in_order", _named(rng, "a.", _GATE_UP, "weight"))
    add("in_order", _named(rng, "layers.0.self_attn.", _QKV, "weight"))
    for layers in (1, 1, 2):
        add("in_order", _checkpoint(rng, layers))
    for layers in (1, 1, 2, 2, 3):
        pairs = _checkpoint(rng, layers)
        rng.shuffle(pairs)
        add("any_order", pairs)
    odd = [_alone(rng, name) for name in ("q_proj.weight", "model.gate_proj", "model.up_proj_scale.weight")]
    add("in_order", _checkpoint(rng, 1) + odd)  # no part of anything: a dot is missing
    for order in ((2, 1, 0), (1, 2, 0)):
        parts = _named(rng, "layers.7.self_attn.", _QKV, "weight")
        add("any_order", [parts[i] for i in order])
    for layers in (1, 2, 2):
        pairs = _checkpoint(rng, layers, bias=True)
        add("biases", pairs)
        rng.shuffle(pairs)
        add("biases", list(pairs))
    experts = [p for i in range(3) for p in _named(rng, f"layers.0.mlp.experts.{i}.", _GATE_UP, "weight")]
    rng.shuffle(experts)
    add("biases", experts + _named(rng, "layers.0.self_attn.", _QKV, "weight", "bias"))
    for bias in (False, True):
        add("memory", _checkpoint(rng, 9, bias=bias))
    _add_unfinished(rng, add)
    return found


def _add_unfinished(rng: random.Random, add: Any) -> None:
    add("unfinished", _named(rng, "a.", _GATE_UP, "weight")[:1])
    for layers, lacking in ((1, 1), (2, 1), (2, 2), (3, 3)):
        pairs = _checkpoint(rng, layers, bias=lacking > 1)
        parts = [pair for pair in pairs if pair[0].split(".")[-2] in _QKV + _GATE_UP]
        for gone in rng.sample(parts, lacking):
            pairs.remove(gone)
        rng.shuffle(pairs)
        add("unfinished", pairs)


def _named(rng: random.Random, prefix: str, parts: tuple[str, ...], *kinds: str) -> Pairs:
    """The parts of one matrix, k and v smaller than q as with grouped heads."""
    pairs = []
    for part in parts:
        rows = rng.randrange(1, 3) if part in ("k_proj", "v_proj") else rng.randrange(2, 5)
        for kind in kinds:
            shape = [rows, 3] if kind == "weight" else [rows]
            count = rows * (3 if kind == "weight" else 1)
            values = [rng.uniform(-1, 1) for _ in range(count)]
            pairs.append([f"{prefix}{part}.{kind}", float32(values, shape)])
    return pairs


def _checkpoint(rng: random.Random, layers: int, *, bias: bool = False) -> Pairs:
    """As a model has them: embedding, layers, last norm."""

    def alone(name: str) -> list[Any]:
        return _alone(rng, name)

    pairs = [alone("model.embed_tokens.weight")]
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        pairs += _named(rng, f"{prefix}self_attn.", _QKV, *(("weight", "bias") if bias else ("weight",)))
        pairs += [alone(f"{prefix}self_attn.o_proj.weight"), alone(f"{prefix}self_attn.q_norm.weight")]
        pairs += _named(rng, f"{prefix}mlp.", _GATE_UP, "weight")
        pairs += [alone(f"{prefix}mlp.down_proj.weight"), alone(f"{prefix}input_layernorm.weight")]
    return [*pairs, alone("model.norm.weight")]


def _alone(rng: random.Random, name: str) -> list[Any]:
    return [name, float32([rng.uniform(-1, 1) for _ in range(4)], [4])]


# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """What came of it, and what an error says; pulls and yields in order; tensors; parts kept too long."""
    import weakref

    merged = dict.fromkeys(("q_proj", "k_proj", "v_proj"), "qkv_proj")
    merged |= dict.fromkeys(("gate_proj", "up_proj"), "gate_up_proj")
    waiting, events, tensors, old, messages = [*case["pairs"]], [], [], [], []
    case["pairs"].clear()
    alone = [tensor for name, tensor in waiting if name.rpartition(".")[0].rpartition(".")[2] not in merged]
    parts, finished, kept = [], set(), [0]

    def reader():
        while waiting:
            kept[0] = max(kept[0], sum(group in finished and ref() is not None for group, ref in parts))
            name = waiting[0][0]
            events.append(f"pull {name}")
            *front, part, kind = name.split(".")
            if front and part in merged:
                parts.append((".".join([*front, merged[part], kind]), weakref.ref(waiting[0][1])))
            yield tuple(waiting.pop(0))  # nothing here holds on to it
        events.append("end")

    def consume():
        try:
            for name, tensor in target(reader()):
                events.append(f"yield {name}")
                finished.add(name)
                tensors.append(tensor)
                old.append(any(tensor is one for one in alone))
        except Exception as error:
            messages.append(str(error)[:4000])
            raise

    io.emit(io.attempt(consume))
    io.emit(messages)
    io.emit(events)
    io.emit([tensors, old])
    io.emit(kept[0])


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """What was pulled and yielded, step by step; then errors, tensors and what was kept."""
    if len(got) != len(expected) or not isinstance(got[2], list):
        return Broken(4, NO_RESULT)
    if broken := _check_events(expected[2], got[2], got[0]):
        return broken
    if text := outcome(expected[0], got[0]):
        return Broken(6 if "error" in expected[0] else 4, text)
    if "error" in expected[0] and (broken := _check_message(expected[2], got[1])):
        return broken
    if not isinstance(got[3], list) or len(got[3]) != 2 or not isinstance(got[3][0], list):
        return Broken(4, NO_RESULT)
    if broken := _check_tensors(expected[3], got[3]):
        return broken
    if not is_int(got[4]) or not 0 <= got[4] <= _KEPT:
        zh = "产出之后，合并过的各份还有人留着，内存里就有了两份。"
        en = "Parts are kept after their group was yielded: memory holds two copies."
        return Broken(5, {"zh": zh, "en": en})
    return None


def _check_events(due: list[str], seen: list[Any], ended: Any) -> Broken | None:
    place = next((i for i, (a, b) in enumerate(zip(due, seen, strict=False)) if not same(a, b)), None)
    if place is None and len(due) == len(seen):
        return None
    at = min(len(due), len(seen)) if place is None else place
    mine, right = (events[at] if at < len(events) else "" for events in (seen, due))
    if not right.startswith("yield") and str(mine).startswith("yield"):
        zh, en = "产出了还没有凑齐、或者不该有的一项。", "Something is yielded that is unfinished or not due."
        return Broken(3, {"zh": zh, "en": en})
    if right.startswith("yield") and str(mine).startswith("yield"):
        zh, en = "产出的名字不对。", "What is yielded has the wrong name."
        return Broken(1, {"zh": zh, "en": en})
    if isinstance(ended, dict) and "error" in ended and not mine:
        zh, en = (
            "各份都对，途中却抛出了异常。",
            "The parts are right, and yet an exception is raised on the way.",
        )
        return Broken(3, {"zh": zh, "en": en})
    if right.startswith("yield"):
        zh = "有一项已经可以产出，却没有在取下一项之前产出。"
        en = "Something could be yielded, but is not before the next pair is taken."
        return Broken(4, {"zh": zh, "en": en})
    zh, en = "没有把输入取完。", "The input is not taken to its end."
    return Broken(6, {"zh": zh, "en": en})


def _check_message(events: list[str], messages: Any) -> Broken | None:
    said = " ".join(str(message) for message in messages) if isinstance(messages, list) else ""
    given = {event.removeprefix("yield ") for event in events if event.startswith("yield ")}
    pulled = [event.removeprefix("pull ") for event in events if event.startswith("pull ")]
    if all(name in said for name in {_merged(name) for name in pulled} - given):
        return None
    zh, en = "消息里没有写出没凑齐的全名。", "The message lacks the full name of what is unfinished."
    return Broken(6, {"zh": zh, "en": en})


def _merged(name: str) -> str:
    *front, part, kind = name.split(".")
    part = "qkv_proj" if part in _QKV else "gate_up_proj" if part in _GATE_UP else part
    return ".".join([*front, part, kind])


def _check_tensors(due: list[Any], seen: list[Any]) -> Broken | None:
    if not same(due[1], seen[1]):
        zh, en = (
            "不用合并的，产出的不是原来那个张量。",
            "What is not merged is not passed as the same tensor.",
        )
        return Broken(4, {"zh": zh, "en": en})
    if same(due[0], seen[0]):
        return None
    for right, mine in zip(due[0], seen[0], strict=False):
        if isinstance(mine, TensorData) and mine.shape == right.shape and not same(right, mine):
            zh, en = "拼接的次序不对。", "The parts are joined in the wrong order."
            return Broken(2, {"zh": zh, "en": en})
    zh, en = "拼出来的形状或者 dtype 不对。", "What is joined has the wrong shape or dtype."
    return Broken(2, {"zh": zh, "en": en})


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """T0 from a checkpoint in order, and from two whose tensors come in random order."""
    calls = [[P(0, 5), P(1, 9)]]
    jobs = [EngineJob(name=f"shuffled, number {i}", calls=calls, shuffled=True) for i in (1, 2)]
    return [EngineJob(name="in order", calls=calls), *jobs]


_RIGHT = """\
import torch

PARTS = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}


def merge_projections(pairs):
    waiting = {}
    for name, tensor in pairs:
        for merged, parts in PARTS.items():
            part = next((part for part in parts if f".{part}." in name), None)
            if part is not None:
                break
        else:
            yield name, tensor
            continue
        full_name = name.replace(f".{part}.", f".{merged}.")
        group = waiting.setdefault(full_name, {})
        group[part] = tensor
        if len(group) == len(parts):
            del waiting[full_name]
            yield full_name, torch.cat([group[part] for part in parts])
    if waiting:
        raise ValueError(f"parts are missing of {', '.join(waiting)}")
"""
_YIELD = "            yield full_name, torch.cat([group[part] for part in parts])\n"

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "[group[part] for part in parts]", "list(group.values())"),
        zh="必须按 q、k、v 的顺序拼接：模型会按这个顺序切开。",
        en="The model splits q, k, v; join in that order.",
    ),
    Mutant(
        "b",
        instead(
            instead(_RIGHT, "waiting.setdefault(full_name, {})", "waiting.setdefault(layer, {})"),
            "        group =",
            '        layer = full_name.rpartition(".")[0]\n        group =',
        ).replace("del waiting[full_name]", "del waiting[layer]"),
        zh="weight 与 bias 要分开合并：按全名分组。",
        en="Group by the full name: weight and bias are merged apart.",
    ),
    Mutant(
        "c",
        instead(
            instead(
                instead(_RIGHT, _YIELD, _YIELD.replace("yield full_name, torch", "done[full_name] = torch")),
                "    waiting = {}\n",
                "    waiting, done = {}, {}\n",
            ),
            "    if waiting:\n",
            "    yield from done.items()\n    if waiting:\n",
        ),
        zh="凑齐就产出，否则内存翻倍。",
        en="Yield when complete; memory is the point.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "    if waiting:\n        raise", "    if False:\n        raise"),
        zh="没凑齐就结束，模型会缺一块：要报错。",
        en="Parts that never came leave a hole in the model: raise an error.",
    ),
    Mutant(
        "e",
        instead(
            instead(_RIGHT, "            del waiting[full_name]\n", ""),
            "    if waiting:\n        raise ValueError(f\"parts are missing of {', '.join(waiting)}\")",
            "    lacking = [name for name, group in waiting.items() if len(group) < 2 + ('qkv' in name)]\n"
            "    if lacking:\n        raise ValueError(', '.join(lacking))",
        ),
        zh="产出之后要从字典里删掉，不然各份一直占着内存。",
        en="Take a group out of the dict once it is yielded, or its parts stay in memory.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "            yield name, tensor\n", "            yield name, tensor.clone()\n"),
        zh="不用合并的原样交出，不要复制。",
        en="Hand on what is not merged as it is: no copy.",
    ),
]
