"""Each exercise's samples on its solution, and the engine with the solution in it; print what happened."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import torch

from judge.exercises import Exercise, load_exercises
from judge.solution import solution_text
from judge.swap import SwapSpec, install
from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

ONE_FILE = (160, 161)  # these drive an engine of their own


def solution(exercise: Exercise) -> Any:
    module = ModuleType("solution")
    exec(compile(solution_text(exercise), "solution.py", "exec"), module.__dict__)
    return getattr(module, exercise.name)


def samples(exercise: Exercise) -> int:
    space: dict[str, Any] = {}
    exec(compile(exercise.samples, "samples.py", "exec"), space)
    tests = [value for name, value in space.items() if name.startswith("test_")]
    for test in tests:
        test(solution(exercise))
    return len(tests)


def engine(exercise: Exercise | None) -> list[list[int]]:
    config = tiny_config()
    settings = {"num_page_override": 128, "max_running_req": 4, "cache_type": "radix", "page_size": 4}
    llm = LLM((config, tiny_state_dict(config, 0)), **settings)
    prompts, params = [prompt(i, 9 + i) for i in range(3)], SamplingParams(max_tokens=6, ignore_eos=True)
    if exercise is None:
        return [result["token_ids"] for result in llm.generate(prompts, params)]
    spec = SwapSpec(exercise.slug, exercise.place, exercise.target, tuple(exercise.members))
    with install(llm, spec, {exercise.name: solution(exercise)}):
        return [result["token_ids"] for result in llm.generate(prompts, params)]


found: dict[str, Any] = {}
for number, exercise in sorted(load_exercises().items()):
    if exercise.browser != "server":
        found[exercise.key] = {"samples": samples(exercise)}
    if exercise.browser == "all" and exercise.place != "none" and number not in ONE_FILE:
        found[exercise.key]["tokens"] = engine(exercise)
print(json.dumps({"torch": torch.__version__, "exercises": found, "reference": engine(None)}))
