"""Requests that arrive and are aborted at any moment, in small pools and in every mode of scheduling, get the
tokens that they get alone. Nothing leaks, and nobody waits for ever.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import pytest
import torch
import transformers
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from late_llm import LateLLM

from minisgl.core import ChunkedReq, Req, SamplingParams
from minisgl.llm import LLM
from minisgl.message import AbortBackendMsg, UserMsg
from minisgl.models.tiny import hf_config_dict, prompt, tiny_config, tiny_state_dict
from minisgl.scheduler import ForwardData
from minisgl.utils import cdiv

EOS = 302  # the model samples it after about a quarter of these prompts
CONFIG = tiny_config(eos_token_ids=(EOS,))
MODEL = (CONFIG, tiny_state_dict(CONFIG, 0))
LONGEST = 24

PROMPTS = st.builds(
    # likely to share a prefix with others, also in the middle of a page
    lambda family, shared, other, own: tuple(prompt(family, shared) + prompt(other, own)),
    family=st.integers(0, 1),
    shared=st.integers(0, 14),
    other=st.integers(2, 4),
    own=st.integers(1, 6),
)
PARAMS = st.builds(
    SamplingParams,
    max_tokens=st.one_of(st.integers(1, 3), st.integers(4, LONGEST)),
    ignore_eos=st.booleans(),
    stop_token_ids=st.sampled_from([(), (), (401, 77)]),
    temperature=st.sampled_from([0.0, 0.0, 0.0, 0.8]),
    seed=st.integers(0, 3),
    frequency_penalty=st.sampled_from([0.0, 0.0, 0.0, 0.5]),
)
REQUESTS = st.tuples(PROMPTS, PARAMS)
Request: TypeAlias = tuple[tuple[int, ...], SamplingParams]


@cache
def alone() -> LLM:
    return LLM(MODEL, num_page_override=64, cache_type="naive")


@cache
def tokens_alone(ids: tuple[int, ...], params: SamplingParams) -> list[int]:
    """What the request generates, with the token that ends it."""
    llm = alone()
    llm.inbox.append(UserMsg(0, torch.tensor(ids, dtype=torch.int32), params))
    while llm.is_busy:
        llm.normal_loop()
    tokens = [msg.next_token for msg in llm.outbox]
    llm.outbox.clear()
    return tokens


@dataclass
class Seen:
    """A request of the run."""

    ids: tuple[int, ...]
    params: SamplingParams
    tokens: list[int] = field(default_factory=list)
    reason: str | None = None
    aborted: bool = False


class Traffic:
    """An LLM, its requests, and what has come of them."""

    def __init__(self, *, tokens: int, late: int | None, **settings: Any) -> None:
        """`tokens`: size of the pool. `late`: when forwards happen; None: at launch, 0: when they are waited
        for, else: at a moment drawn with this seed.
        """
        settings["num_page_override"] = tokens // settings["page_size"]
        if late is None:
            self.llm = LLM(MODEL, **settings)
        else:
            self.llm = LateLLM(MODEL, moment=random.Random(late) if late else None, **settings)
        self.llm.engine.kv_cache.buffer.fill_(1e4)  # whoever reads what nobody wrote gets other tokens
        self.last_data: ForwardData | None = None
        self.seen: dict[int, Seen] = {}

    def arrive(self, requests: Sequence[Request]) -> None:
        for ids, params in requests:
            uid = len(self.seen)
            self.seen[uid] = Seen(ids, params)
            self.llm.inbox.append(UserMsg(uid, torch.tensor(ids, dtype=torch.int32), params))

    def open_uids(self) -> list[int]:
        return [uid for uid, seen in self.seen.items() if seen.reason is None and not seen.aborted]

    def abort(self, uid: int) -> None:
        self.llm.inbox.append(AbortBackendMsg(uid))
        if uid in self.seen:
            self.seen[uid].aborted = True

    def step(self) -> None:
        self.last_data = self.llm.step(self.last_data)
        while self.llm.outbox:
            msg = self.llm.outbox.popleft()
            seen = self.seen[msg.uid]
            assert seen.reason is None, "nothing comes after the end"
            assert not seen.aborted or msg.finished  # its last token was on its way
            seen.tokens.append(msg.next_token)
            assert (msg.finish_reason is not None) == msg.finished
            seen.reason = msg.finish_reason

    def drain(self) -> None:
        # each request alone, one after the other, and each retracted once a token: more would be no progress
        most = 10 + sum(len(seen.ids) * 2 + LONGEST * (LONGEST + 3) for seen in self.seen.values())
        steps = 0
        while self.llm.is_busy:
            self.step()
            steps += 1
            assert steps <= most, "requests wait without end"
        assert self.last_data is None
        assert all(seen.aborted or seen.reason is not None for seen in self.seen.values())
        self.check()
        self.llm.run_when_idle()

    def check(self) -> None:
        """Every page and row has one owner; tokens are those of each request alone."""
        llm, size = self.llm, self.llm.config.page_size
        manager, live = llm.cache_manager, self._live()
        owners = manager.free_slots.tolist()
        owners += manager.prefix_cache.cached_locations()[::size].tolist()
        for req in live:
            row = manager.page_table[req.table_idx, : cdiv(req.cached_len, size) * size].tolist()
            owners += row[req.cache_handle.cached_len :: size]
        assert sorted(owners) == [page * size for page in range(manager.num_pages)]
        rows = [req.table_idx for req in live] + llm.deferred_slots + llm.table_manager._free_slots
        assert sorted(rows) == list(range(llm.config.max_running_req))
        for seen in self.seen.values():
            expected = tokens_alone(seen.ids, seen.params)
            assert seen.tokens == expected[: len(seen.tokens)]
            if seen.reason is not None:
                assert seen.tokens == expected
                ends = not seen.params.ignore_eos and expected[-1] == EOS
                ends |= expected[-1] in seen.params.stop_token_ids
                assert seen.reason == ("stop" if ends else "length")

    def _live(self) -> list[Req]:
        """All requests that hold pages."""
        reqs: list[Req] = [
            waiting.chunked_req for waiting in self.llm.prefill_manager.chunked if waiting.chunked_req
        ]
        reqs += self.llm.decode_manager.running_reqs
        for batch in self.llm._launched:
            ending = (req for req in batch.reqs if not isinstance(req, ChunkedReq) and not req.can_decode)
            reqs += (req for req in ending if req not in self.llm.finished_reqs)
        return reqs


class TrafficMachine(RuleBasedStateMachine):
    """Subclasses fix the modes, which hypothesis would not vary enough."""

    modes: dict[str, Any]

    @initialize(
        page_size=st.sampled_from([1, 2, 4, 16]),
        tokens=st.sampled_from([48, 64, 96]),
        max_running_req=st.sampled_from([8, 8, 2]),
        cache_type=st.sampled_from(["radix", "radix", "naive"]),
        max_extend_tokens=st.sampled_from([1000, 16, 5]),
        watermark=st.integers(0, 2),
        policy=st.sampled_from(["fcfs", "lpm"]),
        emulate_graph=st.booleans(),
        late=st.sampled_from([0, 1, 2, None]),
        requests=st.lists(REQUESTS, min_size=4, max_size=10),
    )
    def start(self, requests: list[Request], emulate_graph: bool, **settings: Any) -> None:
        # who runs late sets its own inputs
        graph = {"emulate_graph": emulate_graph and settings["late"] is None, "cuda_graph_bs": [1, 3, 8]}
        self.traffic = Traffic(lpm_bound=4, **self.modes, **settings, **graph)
        self.traffic.arrive(requests)

    @rule(requests=st.lists(REQUESTS, min_size=1, max_size=4))
    def arrive(self, requests: list[Request]) -> None:
        self.traffic.arrive(requests)

    @rule(data=st.data())
    def abort(self, data: st.DataObject) -> None:
        self.traffic.abort(data.draw(st.sampled_from([*self.traffic.open_uids(), 10_000])))

    @rule(count=st.integers(1, 6))
    def steps(self, count: int) -> None:
        for _ in range(count):
            self.traffic.step()
            self.traffic.check()

    def teardown(self) -> None:
        if hasattr(self, "traffic"):
            self.traffic.drain()


@pytest.mark.parametrize("admission", ["worst_case", "optimistic"])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("overlap", [False, True])
def test_random_traffic(overlap: bool, mixed: bool, admission: str) -> None:
    modes = {"overlap": overlap, "mixed": mixed, "admission": admission}
    machine = type("Machine", (TrafficMachine,), {"modes": modes})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=5,
            stateful_step_count=12,
            deadline=None,
            derandomize=True,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


def test_a_request_alone_gets_the_tokens_of_transformers() -> None:
    config = hf_config_dict(CONFIG)
    hf_config = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    model = transformers.AutoModelForCausalLM.from_config(hf_config).eval()
    model.load_state_dict(MODEL[1], strict=False)
    model.generation_config.eos_token_id = None
    params = SamplingParams(max_tokens=LONGEST, ignore_eos=True)
    for family, shared in ((0, 0), (0, 7), (1, 20)):
        ids = prompt(family, shared) + prompt(3, 4)
        with torch.inference_mode():
            output = model.generate(
                torch.tensor([ids]), max_new_tokens=LONGEST, do_sample=False, pad_token_id=0
            )
        assert output[0, len(ids) :].tolist() == tokens_alone(tuple(ids), params)
