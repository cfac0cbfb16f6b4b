"""The one-file engine under the engine part: same tokens as the package, and the learner's function in it."""

from __future__ import annotations

from typing import Any

import pytest

from examples import ch00_tiny_engine as tiny
from judge.engine_plan import text_job, tiny_job
from judge.engine_result import ProgramResult, Told, difference, parse_result
from judge.exercises import find
from judge.harness.local import load_reference, load_target
from judge.jobs import P
from judge.run import judge_submission
from judge.sandbox import Pool
from judge.solution import solution_text
from judge.swap import install, program
from judge.swap.one_file import SLUGS, OneFileEngine
from judge.types import EngineJob
from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import tiny_config, tiny_state_dict

JOB = EngineJob("three prompts", [[P(0, 5), P(1, 9), P(2, 1)], [P(3, 12)]])
CONSTANTS = ("VOCAB", "HIDDEN", "LAYERS", "HEADS", "KV_HEADS", "HEAD_DIM", "FFN", "EPS", "ROPE_BASE")


def run(slug: str, functions: dict[str, Any], emit: Any = lambda event: None) -> ProgramResult | Told:
    return parse_result(program.run({**tiny_job(find(slug), JOB, 5), "margins": True}, functions, emit))


@pytest.mark.parametrize("slug", SLUGS)
def test_with_the_reference_its_tokens_are_those_of_the_package(slug: str) -> None:
    config = tiny_config()
    llm = LLM((config, tiny_state_dict(config, 5)), num_page_override=64, max_running_req=4)
    params = SamplingParams(max_tokens=JOB.max_tokens, ignore_eos=True)
    expected = [[r["token_ids"] for r in llm.generate(prompts, params)] for prompts in JOB.calls]
    result = run(slug, {slug: load_reference(find(slug))})
    assert isinstance(result, ProgramResult) and result.tokens == expected
    assert result.balanced(1) and 0 < result.margin < 10


def test_each_forward_is_a_step_of_the_schedule() -> None:
    result = run("greedy_generate", {})
    assert isinstance(result, ProgramResult)
    assert result.schedule[:3] == [("prefill", [0], [5]), ("decode", [0], [1]), ("decode", [0], [1])]
    assert [tokens for phase, _, (tokens,) in result.schedule if phase == "prefill"] == [5, 9, 1, 12]
    assert len(result.schedule) == 4 * JOB.max_tokens


@pytest.mark.parametrize("slug", SLUGS)
def test_the_bundled_model_writes_what_the_package_writes(slug: str) -> None:
    """And stops where it stops: at the end of the answer."""
    exercise = find(slug)
    asked = [("en", "What is a page?")]
    job = text_job(exercise, asked)
    events: list[dict[str, Any]] = []
    mine = parse_result(program.run(job, {slug: load_reference(exercise)}, events.append))
    package = parse_result(program.run({**job, "exercise": {**job["exercise"], "slug": "x"}}, {}, print))
    assert isinstance(mine, ProgramResult) and isinstance(package, ProgramResult)
    (text,), (due,) = mine.flat_tokens, package.flat_tokens
    assert text == due[: len(text)] and len(due) - len(text) <= 1  # an LLM hands out the eos as well
    assert [event["tokens"][2] for event in events if "tokens" in event] == text


WRONG = {
    "everything again": ("greedy_generate", "[token], start + len(ids)", "prompt + new, 0"),
    "one too far": ("greedy_generate", "start + len(ids)", "start + len(ids) + 1"),
    "top left": ("causal_mask", "torch.arange(n_key - n_query, n_key)", "torch.arange(n_query)"),
    "not itself": ("causal_mask", "<= positions", "< positions"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_function_is_seen(name: str) -> None:
    slug, right, wrong = WRONG[name]
    exercise = find(slug)
    source = solution_text(exercise)
    assert right in source
    got = run(slug, {slug: load_target(exercise, source.replace(right, wrong), "<mistake>")})
    due = run(slug, {})
    assert isinstance(got, ProgramResult) and isinstance(due, ProgramResult)
    assert difference(due, got, 1) is not None


@pytest.mark.parametrize(
    ("slug", "function", "key"),
    [
        ("greedy_generate", lambda forward, prompt, max_new, eos: None, "swap_tokens"),
        ("greedy_generate", lambda forward, prompt, max_new, eos: [1.0], "swap_tokens"),
        ("causal_mask", lambda n_query, n_key: None, "swap_mask"),
        ("causal_mask", lambda n_query, n_key: tiny.torch.ones(n_query, n_key), "swap_mask"),
    ],
)
def test_an_answer_that_cannot_be_carried_out(slug: str, function: Any, key: str) -> None:
    told = run(slug, {slug: function})
    assert isinstance(told, Told) and told.key == key
    assert told.text["zh"] and told.text["en"]


@pytest.mark.parametrize("slug", SLUGS)
def test_the_file_is_left_as_it_was(slug: str) -> None:
    before = {name: getattr(tiny, name) for name in (*CONSTANTS, *SLUGS)}
    run(slug, {slug: load_reference(find(slug))})
    config = tiny_config(num_layers=1)
    engine = OneFileEngine((config, tiny_state_dict(config, 1)))
    with pytest.raises(ZeroDivisionError), install(engine, find(slug), {slug: lambda *args: 1 / 0}):
        engine.generate([[1]], SamplingParams(max_tokens=1))
    assert {name: getattr(tiny, name) for name in before} == before


@pytest.mark.parametrize("slug", SLUGS)
def test_its_functions_want_this_engine(slug: str) -> None:
    with pytest.raises(TypeError, match="one-file engine"), install(None, find(slug), {slug: len}):
        pass


SEARCH = """
import gc, sys

def found():
    texts = [text for loader in sys.meta_path for text in getattr(loader, "sources", {}).values()]
    texts += [text for text in gc.get_objects() if type(text) is str]
    return sum("ids, start = [token], start " "+ len(ids)" in text for text in texts), len(texts)

def greedy_generate(forward, prompt, max_new, eos=None):
    from examples.ch00_tiny_engine import TinyEngine, greedy_generate
    try:
        greedy_generate(forward, prompt, max_new)
    except NotImplementedError:
        print("cut out")
    print("found", *found())
"""


def test_the_sandbox_lacks_the_body_that_is_asked_for() -> None:
    with Pool() as pool:
        result = judge_submission(find("160"), SEARCH.encode(), pool=pool, samples_only=True, seed=b"seed")
    cut, found = result.samples[0].stdout.splitlines()[:2]
    word, count, texts = found.split()
    assert (cut, word, count) == ("cut out", "found", "0") and int(texts) > 50
