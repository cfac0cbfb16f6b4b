"""The engine of chapter 0 is the same model as the package's, written apart."""

import runpy
from pathlib import Path

import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

PATH = Path(__file__).parents[2] / "examples" / "ch00_tiny_engine.py"
tiny = runpy.run_path(str(PATH))


def test_its_weights_are_those_of_the_package() -> None:
    config = tiny_config()
    for seed in (0, 1):
        ours, theirs = tiny["random_weights"](seed), tiny_state_dict(config, seed)
        assert list(ours) == list(theirs)
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_it_generates_what_the_package_generates() -> None:
    config = tiny_config()
    prompts = [prompt(0, 5), prompt(1, 9), prompt(2, 1)]
    llm = LLM((config, tiny_state_dict(config, 3)), num_page_override=64, max_running_req=4)
    expected = llm.generate(prompts, SamplingParams(max_tokens=12, ignore_eos=True))
    engine = tiny["TinyEngine"](tiny["random_weights"](3))
    got = [tiny["greedy_generate"](engine.forward, ids, 12) for ids in prompts]
    assert got == [result["token_ids"] for result in expected]


def test_greedy_generate_feeds_the_prompt_once_and_then_one_token_a_call() -> None:
    calls: list[tuple[list[int], int]] = []

    def forward(ids: list[int], start: int) -> list[float]:
        calls.append((list(ids), start))
        return [float(i == (sum(ids) + start) % 7) for i in range(7)]

    assert tiny["greedy_generate"](forward, [3, 1], 3) == [4, 6, 2]
    assert calls == [([3, 1], 0), ([4], 2), ([6], 3)]
    calls.clear()
    assert tiny["greedy_generate"](forward, [3, 1], 0) == [] and calls == []
    assert tiny["greedy_generate"](forward, [3, 1], 3, eos=6) == [4] and len(calls) == 2
    with pytest.raises(ValueError, match="empty"):
        tiny["greedy_generate"](forward, [], 3)


def test_causal_mask_is_aligned_at_the_bottom_right() -> None:
    assert tiny["causal_mask"](2, 4).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    for n_query, n_key in ((0, 3), (3, 2)):
        with pytest.raises(ValueError, match="n_query"):
            tiny["causal_mask"](n_query, n_key)


def test_it_imports_nothing_of_the_package() -> None:
    assert "minisgl" not in PATH.read_text(encoding="utf-8").replace("ch00", "")
