"""Exercises on a GPU, five of them with an accepted solution and with a wrong one, in a few lines.

``python -m tools.gpu_judge_demo [--device cuda|cpu] [--all | ID ...]``. A wrong solution would end at the
hidden tests; here it goes into the engine all the same, to see whether the engine part notices it there.
"cpu" goes the same way without a GPU. Needs torch, msgspec, tokenizers and safetensors; flashinfer and
pyseccomp are used where they are installed.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Callable

from judge.authoring.mutants import instead
from judge.engine_run import run_engine
from judge.engine_tier import Tier, device_tier, why_no_cuda
from judge.exercises import Exercise, find, load_exercises
from judge.run import judge_submission
from judge.sandbox import Box, Pool
from judge.solution import solution_text
from judge.source import parameters
from judge.types import EngineResult, Verdict

WRONG = {
    "176": ("block_table[logical]", "sorted(block_table)[logical]"),
    "188": ('"requests": live,', '"requests": live[::-1],'),
    "192": ("self._free(locations[old.cached_len : cached_len])", "self._free(locations[:0])"),
    "193": ("self.reserved_size", "0"),
    "196": ("shared = common // page_size * page_size", "shared = common"),
}
"""What is changed in each solution: places by sorted block numbers, requests turned around, a copy that is
not given back, a reservation that does not count, a cut inside a page."""

TEXT = 60


def accepted(exercise: Exercise, pool: Pool, tier: Tier) -> bool:
    """Judge the reference as a submission, whole."""
    started = time.monotonic()
    result = judge_submission(exercise, solution_text(exercise).encode(), pool=pool, tier=tier)
    print(f"{exercise.key}, accepted: {result.verdict}, score {result.score}, {_since(started)}")
    if result.engine is None or result.verdict is not Verdict.AC:
        print(f"  {result.message['en']}")
        return False
    print(f"  {_engine(result.engine)}")
    for text in result.engine.texts:
        shown = text.text.strip().replace("\n", " ")[:TEXT]
        print(f"  {text.prompt!r} -> {shown!r} ({text.tokens} tokens, {text.cached} from the cache)")
    return True


def wrong(exercise: Exercise, tier: Tier) -> bool:
    """Put a wrong solution into the engine; True when that is noticed."""
    started = time.monotonic()
    source = instead(solution_text(exercise), *WRONG[str(exercise.id)])
    run = run_engine(exercise, tier, secrets.token_bytes(32), _loader(exercise, source), lambda event: None)
    old, new = WRONG[str(exercise.id)]
    print(f"{exercise.key}, {old!r} -> {new!r}: {run.result.verdict}, {_since(started)}")
    print(f"  {run.message['en'] if run.message else 'not noticed'}")
    return run.result.verdict is not Verdict.AC


def every_engine_exercise() -> list[str]:
    """Numbers of the exercises whose function drives the engine."""
    return [str(one.id) for one in load_exercises().values() if one.place != "none"]


def _loader(exercise: Exercise, source: str) -> Callable[[Box], None]:
    def load(box: Box) -> None:
        box.load(
            source.encode(),
            filename=f"{exercise.key}.py",
            target=exercise.name,
            kind=exercise.kind,
            parameters=parameters(exercise),
            members=list(exercise.members),
        )

    return load


def _engine(engine: EngineResult) -> str:
    setup = engine.setup
    assert setup is not None
    how = (
        f"{setup.device}, {setup.dtype}, attention {setup.prefill} and {setup.decode}, graphs {setup.graphs}"
    )
    how += f", overlap {'on' if setup.overlap else 'off'}"
    tokens = f"{engine.tokens_matching} of {engine.tokens} tokens as the reference"
    pages = "pages balance" if engine.pages_balanced else "pages do not balance"
    return f"{engine.model} ({how}): {tokens}, {pages}, {engine.speed_ratio} x the reference's speed"


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"


def main() -> int:
    """0 when every accepted solution is accepted and every wrong one is noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", default=list(WRONG), metavar="ID")
    parser.add_argument("--all", action="store_true", help="every exercise that has an engine part")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = parser.parse_args()
    if options.device == "cuda" and (why := why_no_cuda()) is not None:
        print(f"no GPU to run on: {why}", file=sys.stderr)
        return 2
    tier = device_tier(options.device)
    good = True
    with Pool() as pool:
        print(f"hidden tests: {pool.isolation}; engine part: {tier.pool.isolation}")
        for name in every_engine_exercise() if options.all else options.ids:
            exercise = find(name)
            good &= accepted(exercise, pool, tier)
            good &= name not in WRONG or wrong(exercise, tier)
    tier.close()
    print("all as expected" if good else "not as expected")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
