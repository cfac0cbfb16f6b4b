"""The engine as a scheduler sees it."""

from __future__ import annotations

import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.engine import Engine, EngineConfig, plan_num_pages
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

CONFIG = tiny_config()
MODEL = (CONFIG, tiny_state_dict(CONFIG, seed=0))
GIB = 2**30


def test_pages_of_the_chapter() -> None:
    page_bytes = 28 * 2 * 8 * 128 * 2 * 16
    assert page_bytes == 1_835_008
    assert plan_num_pages([24 * GIB], [22 * GIB], 0.9, page_bytes) == 11467


def test_the_rank_with_the_least_room_decides() -> None:
    before, after = [1000, 1000, 800], [900, 700, 800]
    assert plan_num_pages(before, after, 0.5, 10) == (500 - 300) // 10 - 1


def test_override_is_taken_as_it_is() -> None:
    assert plan_num_pages([0], [0], 0.9, 10, override=7) == 7


@pytest.mark.parametrize(("free", "override"), [(29, None), (1000, 1), (0, None)])
def test_fewer_than_two_pages(free: int, override: int | None) -> None:
    with pytest.raises(ValueError, match="at least 2"):
        plan_num_pages([free], [free], 1.0, 10, override)
    assert plan_num_pages([30], [30], 1.0, 10) == 2


def test_shapes_and_dummy() -> None:
    engine = Engine(EngineConfig(model=MODEL, page_size=4, num_page_override=8, max_running_req=3))
    assert engine.num_pages == 8
    assert engine.max_seq_len == 32, "no longer than the pool"
    assert tuple(engine.page_table.shape) == (4, 32) and engine.page_table.dtype == torch.int32
    assert engine.page_table[-1].unique().tolist() == [32], "the dummy page lies behind the real ones"
    assert engine.dummy_req.table_idx == 3
    assert tuple(engine.kv_cache.buffer.shape) == (2, 2, 9, 4, 2, 16)
    assert (engine.dtype, engine.device.type, engine.model_path) == (torch.float32, "cpu", None)


def test_rows_hold_whole_pages() -> None:
    config = EngineConfig(model=MODEL, page_size=4, num_page_override=8, max_seq_len_override=10)
    engine = Engine(config)
    assert (engine.max_seq_len, engine.page_table.shape[1]) == (10, 12)


def test_without_override_the_pool_is_at_most_what_rows_can_fill() -> None:
    engine = Engine(EngineConfig(model=MODEL, page_size=4, max_running_req=2, max_seq_len_override=10))
    assert 2 <= engine.num_pages <= 6


@pytest.mark.parametrize(
    "settings",
    [
        {"max_running_req": 0},
        {"page_size": 0},
        {"num_page_override": 0},
        {"memory_ratio": 0.0},
        {"memory_ratio": 1.1},
    ],
)
def test_config_is_checked(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        EngineConfig(model=MODEL, **settings)


def test_no_longer_than_the_models_positions() -> None:
    with pytest.raises(ValueError, match="2048 positions"):
        Engine(EngineConfig(model=MODEL, max_seq_len_override=4096, num_page_override=8))


def test_dtype() -> None:
    engine = Engine(EngineConfig(model=MODEL, dtype=torch.bfloat16, num_page_override=8))
    assert engine.kv_cache.dtype == torch.bfloat16
    assert {weight.dtype for weight in engine.model.state_dict().values()} == {torch.bfloat16}


def test_forward_by_hand(driver) -> None:
    """Chapter 6: two prompts of 5 and 4 tokens, then one token each a step."""
    run = driver(CONFIG)
    reqs = [run.start(prompt(0, 5), new=8), run.start(prompt(1, 4), new=8)]
    tokens_per_forward = []
    while reqs[0].can_decode:
        tokens_per_forward.append(sum(req.extend_len for req in reqs))
        run.step(reqs)
    assert tokens_per_forward == [9, 2, 2, 2, 2, 2, 2, 2]
    assert [(req.cached_len, req.device_len, len(req.input_ids)) for req in reqs] == [
        (12, 13, 13),
        (11, 12, 12),
    ]


def test_padding_changes_nothing(driver) -> None:
    """A dummy request beside the real ones: other tokens stay, and only the dummy page is written."""
    plain, padded = driver(CONFIG), driver(CONFIG)
    logits = []
    for run, padding in ((plain, False), (padded, True)):
        req = run.start(prompt(0, 5), new=2)
        run.step([req])
        batch_of = run.engine.attn_backend.prepare_metadata
        if padding:

            def prepare(batch, run=run, batch_of=batch_of) -> None:
                dummy = run.engine.dummy_req
                batch.padded_reqs = [*batch.reqs, dummy]
                batch.input_ids = torch.cat((batch.input_ids, torch.zeros(1, dtype=torch.int32)))
                batch.positions = torch.cat((batch.positions, torch.zeros(1, dtype=torch.int32)))
                batch.out_loc = torch.cat((batch.out_loc, run.engine.page_table[dummy.table_idx, :1]))
                batch_of(batch)

            run.engine.attn_backend.prepare_metadata = prepare
        logits.append(run.step([req]))
    assert logits[1].shape == (1, 512)
    torch.testing.assert_close(logits[0], logits[1])
    buffers = [run.engine.kv_cache.buffer[:, :, :-1] for run in (plain, padded)]
    assert torch.equal(*(buffer.isnan() for buffer in buffers)), "NaN is where nobody has written"
    # Two rows may be multiplied in another order than one.
    torch.testing.assert_close(*(buffer.nan_to_num() for buffer in buffers))


def test_several_engines_in_one_process(driver) -> None:
    first, second = driver(CONFIG, seed=0), driver(tiny_config("llama"), seed=1)
    alone = [driver(CONFIG, seed=0), driver(tiny_config("llama"), seed=1)]
    expected = [run.generate([run.start(prompt(0, 5), new=6)]) for run in alone]
    reqs = [first.start(prompt(0, 5), new=6), second.start(prompt(0, 5), new=6)]
    for _ in range(6):
        first.step([reqs[0]])
        second.step([reqs[1]])
    assert [[req.input_ids[5:].tolist()] for req in reqs] == expected


def test_sampling_beside_greedy(driver) -> None:
    """A seeded request samples the same alone and in company, and leaves its neighbour greedy."""
    params = SamplingParams(temperature=1.5, top_k=40, top_p=0.9, min_p=0.01, seed=11)
    run = driver(CONFIG)
    alone = run.generate([run.start(prompt(1, 4), new=8, params=params)])[0]
    greedy = run.generate([run.start(prompt(0, 5), new=8)])[0]
    together = run.generate([run.start(prompt(0, 5), new=8), run.start(prompt(1, 4), new=8, params=params)])
    assert together == [greedy, alone]
    assert alone != run.generate([run.start(prompt(1, 4), new=8)])[0]


def test_shutdown_lets_go_of_the_memory() -> None:
    engine = Engine(EngineConfig(model=MODEL, num_page_override=8))
    engine.shutdown()
    assert not hasattr(engine, "model") and not hasattr(engine, "kv_cache")
