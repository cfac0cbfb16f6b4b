"""Hidden tests of 170 `yarn_factor`."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import broken_end
from judge.jobs import P
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("default", "没有给缩放因子", "no attention factor is given"),
    Group("given", "给出了缩放因子", "an attention factor is given"),
    Group("ramp", "斜坡的两端", "where the ramp begins and ends"),
]
_TOLERANCE = 2e-5
"""Tables are short: an angle of p radians in float32 is off by p * 1e-7, more with every step of rounding."""

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 26 tables of up to 24 rows; each group holds factors that are not 1."""
    found: list[Case] = []

    def add(group: str, factor: float, given: float | None, **more: Any) -> None:
        data: dict[str, Any] = {
            "head_dim": rng.choice((4, 8, 16, 64)),
            "max_position": rng.randrange(2, 25),
            "base": rng.choice((10000.0, 1e6, 500.0)),
            "original": rng.choice((64, 512, 2048, 4096)),
            "betas": [],
        }
        found.append(Case(group, data | {"factor": factor, "given": given} | more))

    for factor in (1.5, 2.0, 4.0, 8.0, rng.uniform(2, 8), 1.0, 0.8):
        add("default", factor, None)
    add("default", 4.0, None, head_dim=2, max_position=1)
    for given in (1.0, 0.8, rng.uniform(1.1, 1.6)):
        add("given", rng.choice((2.0, 4.0, 8.0)), given)
        add("given", rng.uniform(2, 6), given)
        add("given", 1.0, given)
    for original, base in ((2048, 10000.0), (4096, 10.0), (64, 10000.0), (6, 10000.0), (32768, 1e6)):
        wide = {"original": original, "base": base, "head_dim": 32, "max_position": 24}
        add("ramp", rng.choice((2.0, 4.0)), None, **wide)
        add("ramp", 4.0, rng.choice((0.9, 1.2)), **wide, betas=[rng.choice((8.0, 16.0)), 2.0])
    # the ramp would end behind the last dimension
    wide = {"original": 4096, "base": 10.0, "head_dim": 32, "max_position": 24}
    add("ramp", 4.0, None, **wide, betas=[200.0, 1.0])
    return found


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call: the table, or what it raised."""
    sizes = [case["head_dim"], case["max_position"], case["base"], case["factor"], case["original"]]
    more = {} if case["given"] is None else {"attention_factor": case["given"]}
    io.emit(io.attempt(target, *sizes, *case["betas"], **more))


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors, type and shape first; then the factor by itself, the angles by themselves."""
    if broken := broken_end(expected, got, 1):
        return broken
    due, seen = expected[0]["value"], got[0]["value"]
    if not isinstance(seen, TensorData) or seen.dtype != "float32" or seen.shape != due.shape:
        zh = "返回的不是形状 `[max_position, head_dim]` 的 float32 张量。"
        en = "What is returned is not a float32 tensor of shape `[max_position, head_dim]`."
        return Broken(1, {"zh": zh, "en": en})
    half = due.shape[1] // 2
    right = [(row[:half], row[half:]) for row in due.tolist()]
    mine = [(row[:half], row[half:]) for row in seen.tolist()]
    if all(_alike(*pair) for rows in zip(right, mine, strict=True) for pair in zip(*rows, strict=True)):
        return None
    return _why(case.data, right, mine)


_Rows = list[tuple[list[float], list[float]]]


def _why(data: dict[str, Any], right: _Rows, mine: _Rows) -> Broken:
    factor = _factor(data)
    cos = [_times(one[0], 1 / factor, other[0]) for one, other in zip(right, mine, strict=True)]
    sin = [_times(one[1], 1 / factor, other[1]) for one, other in zip(right, mine, strict=True)]
    if all(cos) and all(sin):
        zh = "角度都对，整张表却没有乘注意力缩放因子。"
        en = "The angles are right, but the table is not multiplied by the attention factor."
        return Broken(4, {"zh": zh, "en": en})
    scales = {round(math.hypot(c, s), 3) for row in mine for c, s in zip(*row, strict=True)}
    if len(scales) > 1:
        zh = "cos 和 sin 乘的不是同一个因子。"
        en = "Cosines and sines are not multiplied by the same factor."
        return Broken(4, {"zh": zh, "en": en})
    if scales != {round(factor, 3)}:
        if data["given"] is None:
            zh, en = "缩放因子的默认值不对。", "The default of the attention factor is wrong."
            return Broken(5, {"zh": zh, "en": en})
        zh, en = "表乘的不是给出的缩放因子。", "The table is not multiplied by the factor that is given."
        return Broken(6, {"zh": zh, "en": en})
    zh, en = "缩放因子对，角度却不对。", "The attention factor is right, but angles are wrong."
    return Broken(3, {"zh": zh, "en": en})


def _factor(data: dict[str, Any]) -> float:
    if data["given"] is not None:
        return float(data["given"])
    return 0.1 * math.log(data["factor"]) + 1 if data["factor"] > 1 else 1.0


def _alike(one: list[float], other: list[float]) -> bool:
    return all(abs(a - b) <= _TOLERANCE for a, b in zip(one, other, strict=True))


def _times(one: list[float], factor: float, other: list[float]) -> bool:
    return _alike([value * factor for value in one], other)


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """T0 with YaRN: four times its 32 positions; once with a factor of the config's own."""
    rope = {"kind": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}
    calls = [[P(0, 40), P(1, 5)], [P(2, 60)]]
    return [
        EngineJob(name="YaRN, factor 4", calls=calls, rope=rope),
        EngineJob(name="YaRN, attention factor 1.5", calls=calls, rope=rope | {"attention_factor": 1.5}),
    ]


_STARTER = (Path(__file__).parents[2] / "chapters/exercises/170_yarn_factor/starter.py").read_text("utf-8")
_LAST = "    return make_cos_sin(frequencies, max_position)\n"
_DEFAULT = """\
    if attention_factor is None:
        attention_factor = 0.1 * math.log(factor) + 1 if factor > 1 else 1.0
"""

MUTANTS = [
    Mutant(
        "a",
        "starter",
        zh="频率对了，缺少注意力缩放因子。",
        en="The frequencies are right, the attention factor is missing.",
    ),
    Mutant(
        "b",
        instead(
            _STARTER,
            _LAST,
            _DEFAULT
            + "    cos, sin = make_cos_sin(frequencies, max_position).chunk(2, dim=-1)\n"
            + "    return torch.cat((cos * attention_factor, sin), dim=-1)\n",
        ),
        zh="sin 也要乘：不然转出来的向量被压扁了。",
        en="Scale sin as well; else the rotation flattens vectors.",
    ),
    Mutant(
        "c",
        instead(
            _STARTER,
            _LAST,
            "    scale = 0.1 * math.log(factor) + 1 if factor > 1 else 1.0\n"
            "    return make_cos_sin(frequencies, max_position) * scale\n",
        ),
        zh="配置里给出的值优先，公式只是默认值。",
        en="A value in the config wins; the formula is just the default.",
    ),
    Mutant(
        "d",
        instead(
            _STARTER,
            _LAST,
            _DEFAULT + "    return make_cos_sin(frequencies * attention_factor, max_position)\n",
        ),
        zh="要乘的是 cos 和 sin，不是频率：角度不能再变。",
        en="Multiply cosines and sines, not frequencies: the angles are not to change again.",
    ),
    Mutant(
        "e",
        instead(
            _STARTER,
            _LAST,
            _DEFAULT + "    return make_cos_sin(frequencies, max_position) * attention_factor**2\n",
        ),
        zh="只乘一次：q 和 k 各带一个因子，分数里自然是平方。",
        en="Multiply once: q and k carry a factor each, and scores so have its square.",
    ),
]
