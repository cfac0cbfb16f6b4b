"""Requests that arrive and are aborted at any moment, in a small pool, get the tokens that they get alone."""

from functools import cache

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.message import AbortBackendMsg, UserMsg
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

EOS = 302  # the model samples it after about a quarter of these prompts
MODEL = (tiny_config(eos_token_ids=(EOS,)), tiny_state_dict(tiny_config(), 0))
LONGEST = 12


@st.composite
def prompts(draw) -> tuple[int, ...]:
    """A prompt that is likely to share a prefix with others, also in the middle of a page."""
    shared = draw(st.integers(0, 12))
    own = draw(st.integers(0 if shared else 1, 6))
    return tuple(prompt(draw(st.integers(0, 1)), shared) + prompt(draw(st.integers(2, 4)), own))


@st.composite
def requests(draw) -> dict:
    return {
        "ids": draw(prompts()),
        "max_tokens": draw(st.integers(1, LONGEST)),
        "ignore_eos": draw(st.booleans()),
        "arrives": draw(st.integers(0, 15)),  # step
        "aborted": draw(st.one_of(st.none(), st.none(), st.integers(0, 25))),
    }


@cache
def alone() -> LLM:
    return LLM(MODEL, num_page_override=64, cache_type="naive")


@cache
def tokens_alone(ids: tuple[int, ...]) -> list[int]:
    return alone().generate([list(ids)], SamplingParams(max_tokens=LONGEST, ignore_eos=True))[0]["token_ids"]


def expected(request: dict) -> list[int]:
    tokens = tokens_alone(request["ids"])[: request["max_tokens"]]
    if not request["ignore_eos"] and EOS in tokens:
        tokens = tokens[: tokens.index(EOS) + 1]  # the scheduler reports the EOS token, too
    return tokens


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    traffic=st.lists(requests(), min_size=1, max_size=10),
    page_size=st.sampled_from([1, 2, 4, 16]),
    tokens=st.sampled_from([32, 64]),
    rows=st.sampled_from([2, 8]),
    cache_type=st.sampled_from(["radix", "radix", "naive"]),
    budget=st.sampled_from([18, 1000]),
)
def test_random_traffic(
    traffic: list[dict], page_size: int, tokens: int, rows: int, cache_type: str, budget: int
) -> None:
    llm = LLM(
        MODEL,
        page_size=page_size,
        num_page_override=tokens // page_size,
        max_running_req=rows,
        cache_type=cache_type,
        max_extend_tokens=budget,
    )
    step = 0
    while step <= 25 or llm.inbox or llm.prefill_manager.runnable or llm.decode_manager.runnable:
        for uid, request in enumerate(traffic):
            if request["arrives"] == step:
                params = SamplingParams(max_tokens=request["max_tokens"], ignore_eos=request["ignore_eos"])
                llm.inbox.append(UserMsg(uid, torch.tensor(request["ids"], dtype=torch.int32), params))
            if request["aborted"] == step:
                llm.inbox.append(AbortBackendMsg(uid))
        llm.normal_loop()
        step += 1
    llm.cache_manager.check_integrity()
    assert llm.table_manager.available_size == rows
    assert llm.cache_manager.prefix_cache.size_info.protected_size == 0
    for uid, request in enumerate(traffic):
        msgs = [msg for msg in llm.outbox if msg.uid == uid]
        got, want = [msg.next_token for msg in msgs], expected(request)
        if request["aborted"] is None or request["aborted"] < request["arrives"]:
            assert got == want
            assert [msg.finished for msg in msgs] == [False] * (len(want) - 1) + [True]
        else:
            assert got == want[: len(got)]
