"""A function put into the engine runs there, alone, and only while it is installed."""

from __future__ import annotations

import functools
import sys
from types import ModuleType

import msgspec
import pytest
import torch

from judge.engine_plan import tiny_job
from judge.engine_result import ProgramResult, Told, difference, parse_result
from judge.exercises import find
from judge.harness.local import load_reference, load_target
from judge.jobs import P, default_jobs
from judge.solution import solution_text
from judge.swap import SwapError, SwapSpec, install, program
from judge.types import EngineJob
from minisgl.core import Req
from minisgl.kvcache.radix_cache import RadixPrefixCache
from minisgl.llm import LLM
from minisgl.models.tiny import tiny_config, tiny_state_dict
from minisgl.scheduler.cache import CacheManager

ADAPTERS = ("176", "188", "196")
FORK = EngineJob("fork", [[P(0, 24) + P(1, 3)], [P(0, 24) + P(2, 3)], [P(0, 24)]], page_size=4)


@pytest.fixture(scope="module")
def llm() -> LLM:
    config = tiny_config()
    weights = tiny_state_dict(config, 1)
    return LLM((config, weights), num_page_override=64, max_running_req=4, max_seq_len_override=64)


def run(exercise, job: EngineJob, functions, **flags) -> ProgramResult | Told:
    plain = {**tiny_job(exercise, job, 3), **flags}
    return parse_result(program.run(plain, functions, flags.get("emit", lambda event: None)))


# --- Rebinding --------------------------------------------------------------------------------


def test_a_method_is_rebound_on_its_class_and_put_back(llm):
    original = CacheManager.cache_req
    seen = []

    def cache_req(self, req, *, finished):
        seen.append((req.uid, finished))
        return original(self, req, finished=finished)

    with install(llm, find("192"), {"cache_req": cache_req}):
        assert CacheManager.cache_req is cache_req
        llm.generate([P(0, 5)])[0]["token_ids"]
    assert CacheManager.cache_req is original
    assert [finished for _, finished in seen] == [False, True]


@pytest.mark.parametrize("kind", ["partial", "object", "static"])
def test_callables_that_are_no_functions_get_the_manager_as_well(llm, kind):
    original = CacheManager.cache_req

    def cache_req(self, req, *, finished):
        return original(self, req, finished=finished)

    given = {
        "partial": functools.partial(cache_req),
        "object": type("Called", (), {"__call__": staticmethod(cache_req)})(),
        "static": staticmethod(cache_req),
    }
    alone = llm.generate([P(0, 5)])[0]["token_ids"]
    with install(llm, find("192"), {"cache_req": given[kind]}):
        assert llm.generate([P(0, 5)])[0]["token_ids"] == alone
    assert CacheManager.cache_req is original


def test_it_is_put_back_after_an_error(llm):
    original = CacheManager.cache_req
    with pytest.raises(ZeroDivisionError), install(llm, find("192"), {"cache_req": lambda: None}):
        raise ZeroDivisionError
    assert CacheManager.cache_req is original


def test_without_the_function_nothing_changes(llm):
    original = CacheManager.cache_req
    with install(llm, find("192"), {"other": None}):
        assert CacheManager.cache_req is original


def test_members_of_a_class_are_bound_onto_the_engines_class(llm):
    class Mine:
        @property
        def extend_len(self) -> int:
            return self.device_len - self.cached_len + 1000

        def complete_one(self) -> None:
            raise AssertionError("not a member of this exercise")

    spec = SwapSpec("req_lengths", "engine", "minisgl.core:Req", ("extend_len",))
    before = Req.__dict__["extend_len"], Req.__dict__["complete_one"]
    with install(llm, spec, {"Req": Mine}):
        request = Req(torch.zeros(5, dtype=torch.int32), 0, 2, 1, 0, None, None)
        assert request.extend_len == 1003
        assert Req.__dict__["complete_one"] is before[1]
    assert (Req.__dict__["extend_len"], Req.__dict__["complete_one"]) == before


def test_what_makes_an_engine_is_in_place_before_it_is_made():
    exercise = find("170")
    reference = load_reference(exercise)
    calls = []

    def yarn_cos_sin(*args, **kwargs):
        calls.append(kwargs["factor"])
        return reference(*args, **kwargs)

    job = exercise.hidden.make_jobs()[0]
    alone, swapped = run(exercise, job, {}), run(exercise, job, {"yarn_cos_sin": yarn_cos_sin})
    assert calls == [4.0] and difference(alone, swapped, 1) is None


def test_a_shuffled_checkpoint_is_the_same_model():
    exercise = find("172")
    reference = load_reference(exercise)
    orders: list[list[str]] = []

    def merge_projections(pairs):
        orders.append([])
        for name, tensor in pairs:
            orders[-1].append(name)
            yield name, tensor

    function = {"merge_projections": lambda pairs: reference(merge_projections(pairs))}
    plain, shuffled = (
        run(exercise, EngineJob("any", [[P(0, 5)]], shuffled=mixed), function) for mixed in (False, True)
    )
    assert plain.tokens == shuffled.tokens
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1])


def test_an_engine_plans_its_pool_by_the_memory_that_is_reported():
    exercise = find("186")
    reference, asked = load_reference(exercise), []

    def plan_num_pages(*args):
        asked.append(args[:2])
        return reference(*args)

    ranks = ([200_000, 180_000], [150_000, 140_000])
    job = EngineJob("two ranks", [[P(0, 5)]], page_size=4, free_memory=ranks)
    result = run(exercise, job, {"plan_num_pages": plan_num_pages})
    # 0.9 * 180,000 - 40,000 bytes in pages of 2,048
    assert isinstance(result, ProgramResult) and result.pages.total == 122_000 // 2048 - 1
    assert asked == [ranks]
    smaller = run(exercise, job, {"plan_num_pages": lambda *args: plan_num_pages(*args) - 1})
    said = difference(result, smaller, 4)
    assert said is not None and "has 57 pages; 58 are due" in said["en"]


def test_prompts_are_sampled_by_settings_of_their_own():
    exercise = find("184")
    reference, seen = load_reference(exercise), []

    def filter_probs(probs, top_k, top_p, min_p):
        seen.append(top_k.tolist())
        return reference(probs, top_k, top_p, min_p)

    own = [{"temperature": 1.0, "seed": 1, "top_k": 5}, {"temperature": 1.0, "seed": 2, "top_k": 7}]
    job = EngineJob("in turn", [[P(0, 5), P(1, 5), P(2, 5)], [P(3, 5)]], sampling=own, max_tokens=2)
    result = run(exercise, job, {"filter_probs": filter_probs})
    assert seen == [[5, 7, 5], [5, 7, 5], [5], [5]]
    assert difference(result, run(exercise, job, {}), 1) is None
    assert difference(result, run(exercise, msgspec.structs.replace(job, sampling=own[::-1]), {}), 1)


def test_a_function_is_replaced_wherever_it_was_imported(llm):
    original = sys.modules["minisgl.utils.misc"].cdiv
    spec = SwapSpec("cdiv", "engine", "minisgl.utils.misc:cdiv")
    users = ["minisgl.utils.misc", "minisgl.utils", "minisgl.scheduler.cache"]
    with install(llm, spec, {"cdiv": len}):
        assert all(sys.modules[name].cdiv is len for name in users)
    assert all(sys.modules[name].cdiv is original for name in users)


def test_an_exercise_without_a_place_or_an_adapter(llm):
    for place in ("none", "adapter"):
        with pytest.raises(LookupError), install(llm, SwapSpec("nowhere", place, "f"), {"f": len}):
            pass


# --- Adapters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ADAPTERS)
def test_with_the_reference_the_engine_does_what_it_does_alone(number):
    exercise = find(number)
    functions = {exercise.name: load_reference(exercise)}
    for job in [*exercise.hidden.make_jobs()][:2]:
        alone, swapped = run(exercise, job, {}), run(exercise, job, functions)
        assert difference(alone, swapped, job.page_size) is None, job.name


@pytest.mark.parametrize("number", ADAPTERS)
def test_the_engine_calls_the_function_itself(number):
    exercise = find(number)
    reference = load_reference(exercise)
    calls = []

    def counted(*args):
        calls.append(args)
        return reference(*args)

    run(exercise, FORK if number == "196" else exercise.hidden.make_jobs()[1], {exercise.name: counted})
    assert calls and len(calls[0]) in (3, 4)
    if number == "196":
        edge, query, page_size, lock_ref = calls[0]
        assert (edge, query, page_size, lock_ref) == (P(0, 24), P(0, 23), 4, 0)


WRONG = {
    "a page of somebody else": ("176", "lambda t, p, s: {'physical_block': 0, 'offset': p % s}", "differs"),
    "a place outside": ("176", "lambda t, p, s: {'physical_block': 10**6, 'offset': 0}", "swap_place"),
    "a float": ("176", "lambda t, p, s: {'physical_block': 1.0, 'offset': 0}", "swap_place"),
    "no dict": ("176", "lambda t, p, s: 3", "swap_place"),
    "nobody runs": (
        "188",
        "lambda r, f, t, b: {'requests': [dict(x, scheduled=0) for x in r]}",
        "swap_plan_nobody",
    ),
    "half a prompt": (
        "188",
        "lambda r, f, t, b: {'requests': [dict(x, scheduled=2) for x in r]}",
        "swap_plan_part",
    ),
    "a request lost": ("188", "lambda r, f, t, b: {'requests': []}", "swap_plan_form"),
    "no plan": ("188", "lambda r, f, t, b: None", "swap_plan_form"),
    "a cut at the end": ("196", "lambda e, q, p, l: {'prefix': e, 'prefix_lock_ref': l}", "swap_fork"),
    "no cut": ("196", "lambda e, q, p, l: {}", "swap_fork_form"),
    "a lock that is no number": (
        "196",
        "lambda e, q, p, l: {'prefix': e[:4], 'prefix_lock_ref': None}",
        "swap_fork_form",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_that_cannot_be_carried_out(name):
    number, code, key = WRONG[name]
    exercise = find(number)
    job = FORK if number == "196" else exercise.hidden.make_jobs()[0]
    swapped = run(exercise, job, {exercise.name: eval(code)})
    if key == "differs":
        assert difference(run(exercise, job, {}), swapped, job.page_size) is not None
    else:
        assert isinstance(swapped, Told) and swapped.key == key
        assert swapped.text["zh"] and swapped.text["en"]


def test_locks_given_by_the_function_count():
    exercise = find("196")
    reference = load_reference(exercise)

    def unlocked(edge, query, page_size=1, lock_ref=0):
        return {**reference(edge, query, page_size, lock_ref), "prefix_lock_ref": 0}

    pair = [P(0, 10) + P(1, 14), P(0, 10) + P(2, 14)]
    job = EngineJob("an edge in use forks", [pair], page_size=4)
    with pytest.raises(RuntimeError, match="more often than locked"):
        run(exercise, job, {"radix_split": unlocked})


def test_adapters_leave_the_engine_as_it_was(llm):
    walk = RadixPrefixCache._tree_walk
    for number in ADAPTERS:
        exercise = find(number)
        with install(llm, exercise, {exercise.name: load_reference(exercise)}):
            pass
    assert RadixPrefixCache._tree_walk is walk
    assert not {"_schedule_next_batch", "_free_req_resources"} & llm.__dict__.keys()
    assert "_page_to_token" not in llm.cache_manager.__dict__


# --- The engine program -----------------------------------------------------------------------


def test_tokens_are_told_as_they_come():
    job = default_jobs()[0]
    events: list[dict] = []
    result = parse_result(program.run(tiny_job(find("192"), job, 3), {}, events.append))
    assert [len(call) for call in result.tokens] == [4, 1, 1]
    told: dict[tuple[int, int], list[int]] = {}
    for event in events:
        call, prompt, token = event["tokens"]
        told.setdefault((call, prompt), []).append(token)
    assert {(c, p): t for c, call in enumerate(result.tokens) for p, t in enumerate(call)} == told
    assert all(len(tokens) == job.max_tokens for tokens in result.flat_tokens)


def test_the_trace_names_lines_of_the_learners_file():
    exercise = find("192")
    source = (
        "from minisgl.scheduler.cache import CacheManager\n"
        "original = CacheManager.cache_req\n\n"
        "def cache_req(self, req, *, finished):\n"
        "    return original(self, req, finished=finished)\n"
    )
    function = load_target(exercise, source, "/box/192_cache_req.py")
    events: list[dict] = []
    job = {**tiny_job(exercise, default_jobs()[0], 3), "trace": True}
    program.run(job, {"cache_req": function}, events.append)
    trace = [event for frame in events for event in frame.get("trace", [])]
    assert [event["seq"] for event in trace] == list(range(len(trace)))
    lines = {event["type"]: event.get("line") for event in trace}
    assert lines["insert"] == lines["unlock"] == 5 and lines["batch"] is None


def test_the_margin_is_that_of_the_closest_two_tokens(monkeypatch):
    job = {**tiny_job(find("192"), default_jobs()[0], 3), "margins": True}
    watched = parse_result(program.run(job, {}, lambda event: None))
    plain = parse_result(program.run({**job, "margins": False}, {}, lambda event: None))
    assert watched.tokens == plain.tokens
    assert 0 < watched.margin < 10 and plain.margin == float("inf")


def test_a_leak_is_in_the_answer():
    def leak(self, req, *, finished):
        self.unlock(req.cache_handle)
        req.cache_handle = self.prefix_cache.match_prefix(req.input_ids[:0]).cuda_handle
        self.lock(req.cache_handle)

    job = EngineJob("leak", [[P(0, 5)]])
    result = run(find("192"), job, {"cache_req": leak})
    assert "integrity" in result.integrity and not result.balanced(1)
    expected = run(find("192"), job, {})
    assert result.tokens == expected.tokens
    assert "116 pages are free" in difference(expected, result, 1)["en"]


def test_the_box_needs_nothing_else_of_the_judge():
    loaded = [name for name in _imports_of(program) if name.startswith("judge")]
    assert all(name.startswith("judge.swap") for name in loaded), loaded


def _imports_of(module: ModuleType) -> set[str]:
    found, todo = set(), [module]
    while todo:
        for value in vars(todo.pop()).values():
            name = getattr(value, "__module__", None) or getattr(value, "__name__", "")
            if isinstance(name, str) and name.startswith("judge") and name not in found:
                found.add(name)
                todo.append(sys.modules[name])
    return found


def test_a_swap_error_names_its_words():
    error = SwapError("swap_fork", cut=3, length=4)
    assert (error.key, error.values) == ("swap_fork", {"cut": 3, "length": 4})


MISSED_BY_TOKENS = {
    "176 takes the pages in ascending order": ("176", "block_table[logical]", "sorted(block_table)[logical]"),
    "188 turns the requests around": ("188", '"requests": live,', '"requests": live[::-1],'),
    "193 leaves the hit prefix out of the token pool": (
        "193",
        "self.table_manager.token_pool[table_idx, :cached_len] = req.input_ids[:cached_len]",
        "pass",
    ),
}


@pytest.mark.parametrize("mistake", MISSED_BY_TOKENS)
def test_a_job_of_the_exercise_shows(mistake):
    number, right, wrong = MISSED_BY_TOKENS[mistake]
    exercise = find(number)
    source = solution_text(exercise)
    assert right in source
    mine = load_target(exercise, source.replace(right, wrong), "<mistake>")
    reference = {exercise.name: load_reference(exercise)} if exercise.place == "adapter" else {}
    seen = []
    for job in exercise.hidden.make_jobs():
        due, got = run(exercise, job, reference), run(exercise, job, {exercise.name: mine})
        assert difference(due, due, job.page_size, same_pages=job.same_pages) is None
        seen.append(difference(due, got, job.page_size, same_pages=job.same_pages))
    assert any(seen)
