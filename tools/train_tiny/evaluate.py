"""Measure an exported model: fixed prompts, capitals, sums and primes, and equality with transformers.

    python -m tools.train_tiny.evaluate build/train_tiny/minisgl-tiny

prints the answers and writes ``evaluation.json`` beside the model's folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from .net import Net, Shape, greedy
from .records import rows
from .synth_chat import render
from .synth_sums import PRIMES
from .tokenizer import END, END_TURN

Answer = Callable[[str, int], str]


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
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return net.to(device).eval(), Tokenizer.from_file(str(folder / "tokenizer.json"))


def ask(question: str) -> str:
    """A chat prompt of one question."""
    return render([("user", question)]) + "<|im_start|>assistant\n"


def answerer(net: Net, tokenizer: Tokenizer) -> Answer:
    """A function (prompt, most tokens) -> the greedy continuation."""
    stops = set(tokenizer.encode(END + END_TURN).ids)

    def answer(prompt: str, limit: int) -> str:
        return tokenizer.decode(greedy(net, tokenizer.encode(prompt).ids, stops, limit))

    return answer


def share(results: Iterable[bool]) -> str:
    """How many are right, as "right/all"."""
    listed = list(results)
    return f"{sum(listed)}/{len(listed)}"


def accuracies(answer: Answer) -> dict[str, str]:
    """Facts that must be right, in every phrasing of the card."""
    countries = rows("countries")
    small = [(a, b) for a in range(20) for b in range(20)]
    numbers = range(2, 51)
    return {
        "capitals, text, en": share(c[2] in answer(f"The capital of {c[0]} is", 8) for c in countries),
        "capitals, text, zh": share(c[3] in answer(f"{c[1]}的首都是", 8) for c in countries),
        "capitals, chat, en": share(
            c[2] in answer(ask(f"What is the capital of {c[0]}?"), 16) for c in countries
        ),
        "capitals, chat, zh": share(c[3] in answer(ask(f"{c[1]}的首都是哪里？"), 16) for c in countries),
        "a + b below 20, text": share(first(answer(f"{a} + {b} =", 4)) == str(a + b) for a, b in small),
        "a + b below 20, chat, en": share(
            f"= {a + b}." in answer(ask(f"What is {a} + {b}?"), 12) for a, b in small
        ),
        "a + b below 20, chat, zh": share(
            f"= {a + b}。" in answer(ask(f"{a} + {b} 等于几？"), 12) for a, b in small
        ),
        "a - b below 20, text": share(
            first(answer(f"{a} - {b} =", 4)) == str(a - b) for a, b in small if a >= b
        ),
        "prime or not, 2 to 50, en": share(
            answer(ask(f"Is {n} a prime number?"), 3).startswith("Yes" if n in PRIMES else "No")
            for n in numbers
        ),
        "prime or not, 2 to 50, zh": share(
            answer(ask(f"{n} 是质数吗？"), 3).startswith("是的" if n in PRIMES else "不是") for n in numbers
        ),
    }


def first(text: str) -> str:
    """The first word of a text."""
    return (text.split() or [""])[0]


def samples(answer: Answer, limit: int = 160) -> list[dict[str, str]]:
    """The fixed prompts with their greedy answers."""
    return [
        {
            "lang": lang,
            "kind": kind,
            "prompt": prompt,
            "answer": answer(ask(prompt) if kind == "chat" else prompt, limit),
        }
        for lang, kind, prompt in rows("prompts")
    ]


def difference(folder: Path, net: Net, tokenizer: Tokenizer) -> float:
    """How far the logits are from those of transformers' Qwen3ForCausalLM, both in float32, on the prompts.

    The largest difference, divided by the largest logit: the logits reach about 60, where neighbouring
    float32 numbers are already 4e-6 apart.
    """
    from transformers import AutoModelForCausalLM

    peer = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    net = net.cpu()
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
    answer = answerer(net, tokenizer)
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
