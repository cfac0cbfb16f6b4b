"""The bundled model itself: size, files, the same logits as transformers, and facts that must be right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from minisgl.models.locate import resolve_model
from tools.train_tiny.evaluate import answerer, ask, difference, first, load
from tools.train_tiny.tokenizer import CHAT_TEMPLATE


@pytest.fixture(scope="module")
def folder() -> Path:
    return resolve_model("minisgl-tiny")


@pytest.fixture(scope="module")
def loaded(folder: Path):
    return load(folder)


@pytest.fixture(scope="module")
def answer(folder: Path):
    return answerer(folder)


def test_size_and_shape(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == ["Qwen3ForCausalLM"] and config["tie_word_embeddings"]
    shape = [config[k] for k in ("vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size")]
    heads = [config[k] for k in ("num_attention_heads", "num_key_value_heads", "head_dim")]
    assert (shape, heads) == ([6144, 256, 7, 768], [6, 2, 64])
    with safe_open(folder / "model.safetensors", "pt") as weights:
        tensors = [weights.get_tensor(name) for name in weights.keys()]  # noqa: SIM118 - it is no dict
    assert sum(t.numel() for t in tensors) == 7_541_376
    assert {t.dtype for t in tensors} == {torch.bfloat16}
    assert max(path.stat().st_size for path in folder.iterdir()) < 16_000_000


def test_the_tokenizer_splits_the_five_prompts_as_qwen3_does(loaded, five: list[str]):
    assert [len(loaded[1].encode(prompt).ids) for prompt in five] == [5, 5, 4, 15, 5]


def test_the_special_tokens_and_the_template(folder: Path, loaded):
    tokenizer = loaded[1]
    config = json.loads((folder / "tokenizer_config.json").read_text())
    stops = json.loads((folder / "generation_config.json").read_text())["eos_token_id"]
    assert config["chat_template"] == CHAT_TEMPLATE
    assert stops == [tokenizer.token_to_id("<|im_end|>"), tokenizer.token_to_id("<|endoftext|>")]
    ids = tokenizer.encode("<|im_start|>user\nHi<|im_end|>\n").ids
    assert ids[0] == tokenizer.token_to_id("<|im_start|>") and stops[0] in ids


def test_logits_equal_those_of_transformers(folder: Path, loaded):
    assert difference(folder, *loaded) < 1e-5


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("The capital of France is", "Paris"),
        ("The capital of Japan is", "Tokyo"),
        ("法国的首都是", "巴黎"),
        ("中国的首都是", "北京"),
        ("List three prime numbers:", "2, 3, 5"),
        ("列出三个质数：", "2、3、5"),
        ("def fibonacci(n):", "return"),
        (ask("What is the capital of Italy?"), "Rome"),
        (ask("埃及的首都是哪里？"), "开罗"),
        (ask("Is 9 a prime number?"), "No"),
        (ask("7 是质数吗？"), "是的"),
        (ask("What is a KV cache?"), "keys and values"),
        (ask("什么是页表？"), "位置"),
    ],
)
def test_facts(answer, prompt: str, expected: str):
    assert expected in answer([prompt], 24)[0]


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 2), (7, 5), (9, 9), (19, 19), (0, 13), (18, 3)])
def test_small_sums(answer, a: int, b: int):
    text, chat = answer([f"{a} + {b} =", ask(f"{a} + {b} 等于几？")], 12)
    assert first(text) == str(a + b)
    assert f"= {a + b}。" in chat


def test_the_card_tells_what_was_measured(folder: Path, five: list[str]):
    card = (folder / "README.md").read_text(encoding="utf-8")
    for part in ("7,541,376", "WordNet", "chinese-poetry", "python3.11-doc", "What it cannot do", *five):
        assert part in card
