"""The small-batch forward, by the kernels' torch references, beside the layers' own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minisgl import kernel
from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models import small_batch
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict


def generate(config, backend: str = "torch,triton"):
    llm = LLM((config, tiny_state_dict(config, 0)), num_page_override=64, attention_backend=backend)
    params = SamplingParams(max_tokens=8, ignore_eos=True)
    return [r["token_ids"] for r in llm.generate([prompt(i, 4 + i) for i in range(3)], params)]


@pytest.mark.parametrize("arch", ["qwen3", "qwen2", "llama"])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("backend", ["torch", "torch,triton"])
def test_same_tokens(arch: str, tied: bool, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(tiny_config(arch), tie_word_embeddings=tied)  # type: ignore[arg-type]
    expected = generate(config)
    calls = []
    forward = small_batch.forward

    def counted(model, input_ids):
        calls.append(len(input_ids))
        return forward(model, input_ids)

    monkeypatch.setattr(small_batch, "forward", counted)
    monkeypatch.setattr(kernel, "use_triton", lambda x: True)
    monkeypatch.setattr("minisgl.layers.attention.use_triton", lambda x: True)
    monkeypatch.setattr(kernel, "_kernels", lambda x: kernel.reference)
    assert generate(config, backend) == expected
    assert calls == [3] * 7


def test_which_models_are_covered() -> None:
    assert small_batch.is_plain(tiny_config())
    assert not small_batch.is_plain(tiny_config(mlp_bias=True))
    assert not small_batch.is_plain(tiny_config(o_bias=True))


def test_a_cpu_runs_the_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_batch, "forward", lambda *args: pytest.fail("not on a CPU"))
    generate(tiny_config())
