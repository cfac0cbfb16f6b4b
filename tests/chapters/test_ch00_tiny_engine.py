"""Chapter 0: an engine in one file. The page shows some of these tests."""

from __future__ import annotations

import pytest
import torch

from examples import ch00_tiny_engine as tiny

PROMPT = [3, 14, 25, 36, 47]
WRITTEN = [375, 509, 45, 265, 45, 329, 122, 290, 397, 197, 98, 172, 290, 122, 290, 124]
WEIGHTS = tiny.random_weights(seed=0)


def write(max_new: int) -> list[int]:
    return tiny.greedy_generate(tiny.TinyEngine(WEIGHTS).forward, PROMPT, max_new)


def largest(logits: list[float]) -> int:
    return logits.index(max(logits))


def test_with_and_without_cache_the_tokens_are_the_same() -> None:
    cached, plain = tiny.TinyEngine(WEIGHTS), tiny.TinyEngine(WEIGHTS)
    assert tiny.greedy_generate(cached.forward, PROMPT, 16) == WRITTEN
    assert tiny.without_cache(plain, PROMPT, 16) == WRITTEN
    assert (cached.forwards, cached.positions) == (16, 20)
    assert (plain.forwards, plain.positions) == (16, 200)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 4), (10, 4)])
def test_positions_are_those_of_the_two_formulas(n: int, m: int) -> None:
    cached, plain, prompt = tiny.TinyEngine(WEIGHTS), tiny.TinyEngine(WEIGHTS), [7] * n
    tiny.greedy_generate(cached.forward, prompt, m)
    tiny.without_cache(plain, prompt, m)
    assert cached.positions == n + m - 1 == len(cached.cache[0][0])
    assert plain.positions == m * n + m * (m - 1) // 2


def test_a_second_user_wipes_out_the_first() -> None:
    engine = tiny.TinyEngine(WEIGHTS)
    first = largest(engine.forward(PROMPT, 0))
    engine.forward([40, 51, 62, 73, 84], 0)  # somebody else begins
    second = largest(engine.forward([first], 5))  # the first user goes on
    assert first == WRITTEN[0]
    assert second != WRITTEN[1]  # no error, and not what it would have written


def test_a_token_keeps_512_bytes() -> None:
    engine = tiny.TinyEngine(WEIGHTS)
    tiny.greedy_generate(engine.forward, PROMPT, 16)
    kept = sum(each.numel() * each.element_size() for layer in engine.cache for each in layer)
    assert kept == 20 * 512 == 10_240


def test_a_wrong_start_raises_nothing_and_writes_something_else() -> None:
    engine = tiny.TinyEngine(WEIGHTS)
    engine.forward(PROMPT, 0)
    right = engine.forward([375], 5)
    engine.forward(PROMPT, 0)
    assert engine.forward([375], 6) != pytest.approx(right, abs=1e-3)


def keys_of(ids: list[int]) -> list[torch.Tensor]:
    engine = tiny.TinyEngine(WEIGHTS)
    engine.forward(ids, 0)
    return [keys[: len(PROMPT)] for keys, _ in engine.cache]


def unchanged() -> list[bool]:
    """By layer: are the keys of the prompt the same once another token has been read?"""
    pairs = zip(keys_of(PROMPT), keys_of([*PROMPT, 375]), strict=True)
    return [torch.allclose(old, new, atol=1e-4) for old, new in pairs]


def test_the_causal_mask_is_what_lets_old_keys_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unchanged() == [True, True]
    monkeypatch.setattr(
        tiny, "causal_mask", lambda n_query, n_key: torch.ones(n_query, n_key, dtype=torch.bool)
    )
    assert unchanged() == [True, False]  # keys of layer 0 know nothing but their own token


def test_a_mask_aligned_at_the_top_left_is_right_until_decode(monkeypatch: pytest.MonkeyPatch) -> None:
    def top_left(n_query: int, n_key: int) -> torch.Tensor:
        return torch.arange(n_key) <= torch.arange(n_query)[:, None]

    monkeypatch.setattr(tiny, "causal_mask", top_left)
    tokens = write(6)
    assert tokens[0] == WRITTEN[0]
    assert tokens[1] != WRITTEN[1]


def test_parameters_add_up() -> None:
    layer = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 128 * 64 + 16 + 16 + 64 + 64
    assert layer == 37_024
    assert sum(weight.numel() for weight in WEIGHTS.values()) == 512 * 64 + 2 * layer + 64 == 106_880


def test_attention_by_hand() -> None:
    q = torch.tensor([2.0, 0, 0, 0])
    k = torch.tensor([[0.0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    weights = (k @ q / 4**0.5).softmax(0)
    assert weights.tolist() == pytest.approx([0.155, 0.422, 0.422], abs=5e-4)
    assert float(weights @ torch.tensor([10.0, 20, 30])) == pytest.approx(22.67, abs=5e-3)
