"""Measure an exported model: fixed prompts, capitals, sums and primes, and equality with transformers.

    python -m tools.train_tiny.evaluate build/train_tiny/minisgl-tiny

prints the answers and writes ``evaluation.json`` beside the model's folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from minisgl.core import SamplingParams
from minisgl.llm import LLM

from .net import Net, Shape
from .records import rows
from .synth_chat import render
from .synth_sums import PRIMES

Answer = Callable[[list[str], int], list[str]]


def load(folder: Path) -> tuple[Net, Tokenizer]:
    """The network in float32 from bfloat16 weights, and its tokenizer."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    shape = Shape(
        vocab=config["vocab_size"],
        hidden=config["hidden_size"],
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        kv_heads=config["num_key_value_heads"],
        head_dim=config["head_dim"],
        ffn=config["intermediate_size"],
        max_len=config["max_position_embeddings"],
        theta=config["rope_theta"],
    )
    net = Net(shape)
    weights = load_file(folder / "model.safetensors")
    net.load_state_dict({name.removeprefix("model."): weight.float() for name, weight in weights.items()})
    return net.eval(), Tokenizer.from_file(str(folder / "tokenizer.json"))


def ask(question: str) -> str:
    """A chat prompt of one question."""
    return render([("user", question)]) + "<|im_start|>assistant\n"


def answerer(folder: Path) -> Answer:
    """A function (prompts, most tokens) -> their greedy continuations, by the course's own engine."""
    llm = LLM(folder, max_running_req=64)

    def answer(prompts: list[str], limit: int) -> list[str]:
        return [reply["text"] for reply in llm.generate(prompts, SamplingParams(max_tokens=limit))]

    return answer


def first(text: str) -> str:
    """The first word of a text."""
    return (text.split() or [""])[0]


def share(answer: Answer, limit: int, cases: list[tuple[str, Callable[[str], bool]]]) -> str:
    """How many of the cases (prompt, is it right?) are answered rightly, as "right/all"."""
    answers = answer([prompt for prompt, _ in cases], limit)
    return f"{sum(right(text) for text, (_, right) in zip(answers, cases, strict=True))}/{len(cases)}"


def _starts(expected: str) -> Callable[[str], bool]:
    return lambda text: text.startswith(expected)


def _holds(expected: str) -> Callable[[str], bool]:
    return lambda text: expected in text


def _is(expected: int) -> Callable[[str], bool]:
    return lambda text: first(text) == str(expected)


def accuracies(answer: Answer) -> dict[str, str]:
    """Facts that must be right, in every phrasing of the card, and larger sums, which need not be."""
    countries = rows("countries")
    small = [(a, b) for a in range(20) for b in range(20)]
    rng = Random(0)
    two = [(rng.randint(10, 99), rng.randint(10, 99)) for _ in range(200)]
    three = [(rng.randint(100, 999), rng.randint(100, 999)) for _ in range(200)]
    products = [(a, b) for a in range(13) for b in range(13)]
    primes = [(n, n in PRIMES) for n in range(2, 51)]
    return {
        "capitals, text, en": share(
            answer, 8, [(f"The capital of {c[0]} is", _holds(c[2])) for c in countries]
        ),
        "capitals, text, zh": share(answer, 8, [(f"{c[1]}的首都是", _holds(c[3])) for c in countries]),
        "capitals, chat, en": share(
            answer, 16, [(ask(f"What is the capital of {c[0]}?"), _holds(c[2])) for c in countries]
        ),
        "capitals, chat, zh": share(
            answer, 16, [(ask(f"{c[1]}的首都是哪里？"), _holds(c[3])) for c in countries]
        ),
        "a + b below 20, text": share(answer, 4, [(f"{a} + {b} =", _is(a + b)) for a, b in small]),
        "a + b below 20, chat, en": share(
            answer, 12, [(ask(f"What is {a} + {b}?"), _holds(f"= {a + b}.")) for a, b in small]
        ),
        "a + b below 20, chat, zh": share(
            answer, 12, [(ask(f"{a} + {b} 等于几？"), _holds(f"= {a + b}。")) for a, b in small]
        ),
        "a - b below 20, text": share(answer, 4, [(f"{a} - {b} =", _is(a - b)) for a, b in small if a >= b]),
        "a * b up to 12, text": share(answer, 5, [(f"{a} * {b} =", _is(a * b)) for a, b in products]),
        "a + b of two digits, text": share(answer, 5, [(f"{a} + {b} =", _is(a + b)) for a, b in two]),
        "a + b of three digits, text": share(answer, 6, [(f"{a} + {b} =", _is(a + b)) for a, b in three]),
        "prime or not, 2 to 50, en": share(
            answer, 3, [(ask(f"Is {n} a prime number?"), _starts("Yes" if p else "No")) for n, p in primes]
        ),
        "prime or not, 2 to 50, zh": share(
            answer, 3, [(ask(f"{n} 是质数吗？"), _starts("是的" if p else "不是")) for n, p in primes]
        ),
    }


def samples(answer: Answer, limit: int = 160) -> list[dict[str, str]]:
    """The fixed prompts with their greedy answers."""
    table = rows("prompts")
    answers = answer([ask(prompt) if kind == "chat" else prompt for _, kind, prompt in table], limit)
    return [
        {"lang": lang, "kind": kind, "prompt": prompt, "answer": text}
        for (lang, kind, prompt), text in zip(table, answers, strict=True)
    ]


def difference(folder: Path, net: Net, tokenizer: Tokenizer) -> float:
    """How far the logits are from those of transformers' Qwen3ForCausalLM, both in float32, on the prompts.

    The largest difference, divided by the largest logit: the logits reach about 60, where neighbouring
    float32 numbers are already 4e-6 apart.
    """
    from transformers import AutoModelForCausalLM

    peer = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    worst = largest = 0.0
    for _, _, prompt in rows("prompts"):
        ids = torch.tensor([tokenizer.encode(ask(prompt)).ids])
        with torch.no_grad():
            logits = peer(ids).logits
            worst = max(worst, (logits - net(ids)).abs().max().item())
            largest = max(largest, logits.abs().max().item())
    return worst / largest


def main(folder: Path) -> None:
    """Evaluate, print and write."""
    net, tokenizer = load(folder)
    answer = answerer(folder)
    result: dict[str, Any] = {"samples": samples(answer), "accuracies": accuracies(answer)}
    for sample in result["samples"]:
        print(f"[{sample['prompt']}] {sample['answer']}\n")
    for name, value in result["accuracies"].items():
        print(f"{name}: {value}")
    result["difference"] = difference(folder, net, tokenizer)
    print(f"relative logit difference from transformers: {result['difference']:.2e}")
    (folder.parent / "evaluation.json").write_text(
        json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
