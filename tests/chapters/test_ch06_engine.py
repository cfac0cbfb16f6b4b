"""Chapter 6: a batch goes in, a token comes out for each request. The page shows some of these tests."""

from __future__ import annotations

import math

import pytest
import torch

from minisgl.core import Batch, Req, SamplingParams, flat_positions
from minisgl.engine import NO_TOKEN, BatchSamplingArgs, Engine, EngineConfig, filter_probs, plan_num_pages
from minisgl.engine.sample import draw, uniform
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

CONFIG = tiny_config()
MODEL = (CONFIG, tiny_state_dict(CONFIG, seed=0))
ROW = 16
GIB = 2**30
GREEDY = SamplingParams(max_tokens=8)
SEEDED = SamplingParams(max_tokens=8, temperature=0.05, top_p=0.9, seed=7)


class ByHand:
    """An engine of three rows, each with 16 slots of the pool to itself."""

    def __init__(self) -> None:
        self.engine = Engine(EngineConfig(model=MODEL, max_running_req=3, num_page_override=3 * ROW))
        self.token_pool = torch.zeros(4, ROW, dtype=torch.int32)

    def admit(self, row: int, ids: list[int], params: SamplingParams) -> Req:
        self.engine.page_table[row, :ROW] = torch.arange(ROW) + row * ROW
        self.token_pool[row, : len(ids)] = torch.tensor(ids)
        return Req(torch.tensor(ids, dtype=torch.int32), row, 0, params.max_tokens, row, params, None)  # type: ignore[arg-type]

    def step(self, reqs: list[Req], phase: str) -> list[int]:
        batch = Batch(reqs, phase)  # type: ignore[arg-type]
        rows, positions = flat_positions(reqs)
        batch.positions, batch.input_ids = positions, self.token_pool[rows, positions.long()]
        batch.out_loc = self.engine.page_table[rows, positions.long()]
        self.engine.attn_backend.prepare_metadata(batch)
        output = self.engine.forward_batch(batch, self.engine.sampler.prepare(batch))
        for req, token in zip(reqs, output.next_tokens_cpu, strict=True):
            req.append_host(token.view(1))
            self.token_pool[req.table_idx, req.cached_len] = token
        return output.next_tokens_cpu.tolist()

    def write(self, *asked: tuple[list[int], SamplingParams]) -> list[list[int]]:
        """Eight tokens for each prompt, all in one batch; the first is in row 0."""
        reqs = [self.admit(row, *one) for row, one in enumerate(asked)]
        steps = [self.step(reqs, "decode" if number else "prefill") for number in range(8)]
        return [list(tokens) for tokens in zip(*steps, strict=True)]


@pytest.fixture(scope="module")
def by_hand() -> ByHand:
    return ByHand()


def filtered(probs: list[float], k: int, p: float, m: float = 0.0) -> list[float]:
    result = filter_probs(torch.tensor([probs]), torch.tensor([k]), torch.tensor([p]), torch.tensor([m]))
    return [round(value, 4) for value in result[0].tolist()]


def test_nine_tokens_go_in_and_two_come_out(by_hand: ByHand) -> None:
    reqs = [by_hand.admit(0, prompt(0, 5), GREEDY), by_hand.admit(1, prompt(1, 4), GREEDY)]
    assert sum(req.extend_len for req in reqs) == 9
    assert len(by_hand.step(reqs, "prefill")) == 2
    assert [(req.cached_len, req.device_len) for req in reqs] == [(5, 6), (4, 5)]
    assert sum(req.extend_len for req in reqs) == 2


def test_company_does_not_change_what_a_greedy_request_says(by_hand: ByHand) -> None:
    [alone] = by_hand.write((prompt(2, 6), GREEDY))
    assert by_hand.write((prompt(0, 5), SEEDED), (prompt(2, 6), GREEDY))[1] == alone


def test_a_seed_writes_the_same_in_any_company(by_hand: ByHand) -> None:
    [alone] = by_hand.write((prompt(0, 5), SEEDED))
    beside = by_hand.write((prompt(1, 4), GREEDY), (prompt(0, 5), SEEDED), (prompt(2, 7), SEEDED))
    assert beside[1] == alone
    assert by_hand.write((prompt(0, 5), GREEDY)) != [alone]


def test_settings_are_collected_before_the_forward_moves_a_request(by_hand: ByHand) -> None:
    """The random number is that of the position which the token will have."""
    req = by_hand.admit(0, prompt(0, 5), SEEDED)
    args = by_hand.engine.sampler.prepare(Batch([req], "prefill"))
    assert args.uniforms is not None
    assert args.uniforms.tolist() == [uniform(7, 5)]


def test_the_token_that_crosses_p_stays() -> None:
    probs = [0.5, 0.25, 0.15, 0.1]
    assert filtered(probs, k=3, p=0.6) == [0.6667, 0.3333, 0.0, 0.0]
    assert filtered(probs, k=4, p=0.4) == [1.0, 0.0, 0.0, 0.0]  # the best one alone exceeds p


def test_a_later_filter_sees_what_an_earlier_one_left() -> None:
    probs = [0.5, 0.25, 0.15, 0.1]
    assert sum(share > 0 for share in filtered(probs, k=4, p=0.8)) == 3
    assert sum(share > 0 for share in filtered(probs, k=3, p=0.8)) == 2


def test_min_p_follows_the_shape() -> None:
    assert filtered([0.9, 0.05, 0.05], k=3, p=1.0, m=0.3) == [1.0, 0.0, 0.0]
    assert 0.0 not in filtered([0.3, 0.28, 0.22, 0.2], k=4, p=1.0, m=0.3)


def test_to_draw_is_to_measure_along_a_ruler() -> None:
    probs = torch.tensor([[0.0, 2 / 3, 1 / 3, 0.0]]).expand(4, -1)
    numbers = torch.tensor([0.0, 0.5, uniform(7, 0), 1 - 2**-53], dtype=torch.float64)
    assert round(uniform(7, 0), 4) == 0.7215
    assert draw(probs, numbers).tolist() == [1, 1, 2, 2]  # never a token of probability 0


def test_a_row_of_no_numbers_spoils_no_other(by_hand: ByHand) -> None:
    logits = torch.zeros(3, CONFIG.vocab_size)
    logits[0, 5], logits[1, 7], logits[2, 9] = 1.0, math.nan, 1.0
    tokens = by_hand.engine.sampler.sample(logits, BatchSamplingArgs())
    assert tokens.tolist() == [5, NO_TOKEN, 9]


def test_pages_of_the_chapter() -> None:
    page = 28 * 2 * 8 * 128 * 2 * 16
    assert plan_num_pages([24 * GIB], [22 * GIB], 0.9, page) == 11_467
    assert plan_num_pages([24 * GIB, 20 * GIB], [22 * GIB, 19 * GIB], 0.9, page) == 9_946
    assert plan_num_pages([24 * GIB], [8 * GIB], 0.9, page) == 3_275


def test_the_dummy_writes_where_nobody_reads(by_hand: ByHand) -> None:
    engine = by_hand.engine
    row = engine.page_table[engine.dummy_req.table_idx]
    assert row.unique().tolist() == [engine.num_pages * engine.page_size]
    assert engine.kv_cache.k_cache(0).shape[0] == engine.num_pages + 1
