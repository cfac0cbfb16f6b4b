"""GGUF files are the models that they were written from."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from gguf_files import permute, tokenizer_fields, write_gguf

from minisgl.core import SamplingParams
from minisgl.distributed import DistributedInfo
from minisgl.engine import Engine, EngineConfig
from minisgl.llm import LLM
from minisgl.models import load_config
from minisgl.models.config import ModelConfig, RotaryConfig
from minisgl.models.gguf import iter_gguf, unpermute
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.models.weight import load_weights

CPU = torch.device("cpu")
YARN = RotaryConfig(
    16,
    256,
    1e4,
    "yarn",
    {"factor": 4.0, "original_max_position_embeddings": 64.0, "beta_fast": 32.0, "beta_slow": 1.0},
)
LLAMA3 = RotaryConfig(
    16,
    512,
    5e5,
    "llama3",
    {
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192.0,
    },
)
CONFIGS = {
    "llama": tiny_config("llama"),
    "llama, untied, with biases": tiny_config("llama", tie_word_embeddings=False, qkv_bias=True, o_bias=True),
    "llama, no groups, odd sizes": tiny_config("llama", num_kv_heads=4, hidden_size=96, vocab_size=300),
    "qwen2": tiny_config("qwen2"),
    "qwen3": tiny_config("qwen3", num_qo_heads=6, num_kv_heads=2),
    "qwen3_moe": tiny_config("qwen3_moe"),
}


def load(path: Path) -> Engine:
    return Engine(EngineConfig(model=path, num_page_override=8, max_running_req=1))


def same_weights(ours: Engine, config: ModelConfig, weights: dict[str, torch.Tensor]) -> bool:
    memory = Engine(EngineConfig(model=(config, weights), num_page_override=8, max_running_req=1))
    a, b = ours.model.state_dict(), memory.model.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_model_is_the_one_that_was_written(name: str, tmp_path: Path) -> None:
    config, path = CONFIGS[name], tmp_path / "m.gguf"
    weights = tiny_state_dict(config, seed=1)
    write_gguf(path, config, weights)
    engine = load(path)
    assert engine.model_config == config and engine.model_path == path
    assert same_weights(engine, config, weights)


@pytest.mark.parametrize("arch", ["llama", "qwen3_moe"])
def test_a_rank_takes_its_share(arch: str, tmp_path: Path) -> None:
    config, path = tiny_config(arch), tmp_path / "m.gguf"
    weights = tiny_state_dict(config, seed=1)
    write_gguf(path, config, weights)
    for rank in (0, 1):
        share = {"num_experts": config.num_experts, "num_kv_heads": 2, "tp_info": DistributedInfo(rank, 2)}
        ours, expected = (
            dict(load_weights(source, CPU, torch.float32, **share)) for source in (path, weights)
        )
        assert ours.keys() == expected.keys()
        assert all(torch.equal(ours[name], expected[name]) for name in ours)


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3", "qwen3_moe"])
def test_tokens_equal_those_of_transformers(arch: str, tmp_path: Path, peer) -> None:
    """For what is stored in Q8_0, transformers gets the numbers that Q8_0 stands for."""
    config = tiny_config(arch, moe_intermediate_size=64)
    if arch != "qwen3_moe":
        config = replace(config, moe_intermediate_size=0)
    weights, path = tiny_state_dict(config, seed=2), tmp_path / "m.gguf"
    write_gguf(path, config, weights, Kind.Q8_0)
    rounded = {}
    for name, weight in weights.items():
        matrix = weight.numpy()
        if matrix.ndim == 2:
            matrix = gguf.dequantize(gguf.quantize(matrix, Kind.Q8_0), Kind.Q8_0)
        rounded[name] = torch.from_numpy(matrix)
    assert not torch.equal(rounded["model.embed_tokens.weight"], weights["model.embed_tokens.weight"])
    model, ids = peer(config, rounded), prompt(3, 9)
    expected = model.generate(torch.tensor([ids]), max_new_tokens=10, do_sample=False)[0, len(ids) :]
    llm = LLM(path, num_page_override=64, max_running_req=1)
    params = SamplingParams(max_tokens=10, ignore_eos=True)
    assert llm.generate([ids], params)[0]["token_ids"] == expected.tolist()


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3"])
def test_transformers_reads_the_same_from_the_file(arch: str, tmp_path: Path, peer) -> None:
    """Its reader of GGUF files is another one."""
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    config, path = tiny_config(arch), tmp_path / "m.gguf"
    weights = tiny_state_dict(config, seed=3)
    write_gguf(path, config, weights, Kind.Q5_1, **tokenizer_fields("qwen2"))
    theirs = load_gguf_checkpoint(path, return_tensors=True, model_to_load=peer(config, weights))["tensors"]
    ours = dict(iter_gguf(path, CPU, torch.float32))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize(
    "kind",
    [Kind.F16, Kind.BF16, Kind.Q8_0, Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_kinds_of_numbers(kind: Kind, dtype: torch.dtype, tmp_path: Path) -> None:
    config = tiny_config("llama")
    weights, path = tiny_state_dict(config, seed=0), tmp_path / "m.gguf"
    write_gguf(path, config, weights, kind)
    ours = dict(iter_gguf(path, CPU, dtype))
    assert ours.keys() == weights.keys()
    steps = {Kind.F16: 2**-11, Kind.BF16: 2**-8, Kind.Q8_0: 2**-7}
    for name, weight in weights.items():
        error = (ours[name].float() - weight).abs().max()
        assert ours[name].shape == weight.shape and error < steps.get(kind, 2**-3) * weight.abs().max()


def test_unpermute_undoes_the_converter() -> None:
    weight = torch.arange(24).view(8, 3)
    assert permute(weight, 2)[:, 0].tolist() == [0, 6, 3, 9, 12, 18, 15, 21]
    assert torch.equal(unpermute(permute(weight, 2), 2), weight)
    bias = torch.arange(8)
    assert torch.equal(unpermute(permute(bias, 2), 2), bias)


def yarn_fields(arch: str, **more: object) -> dict[str, object]:
    scaling = {"type": "yarn", "factor": 4.0, "original_context_length": 64, **more}
    return {f"{arch}.rope.scaling.{name}": value for name, value in scaling.items()}


@pytest.mark.parametrize("arch", ["llama", "qwen3"])
def test_yarn(arch: str, tmp_path: Path) -> None:
    config, path = tiny_config(arch, rotary_config=YARN), tmp_path / "m.gguf"
    weights = tiny_state_dict(config, 0)
    write_gguf(path, config, weights, **yarn_fields(arch))
    assert load_config(path) == config
    write_gguf(path, config, weights, **yarn_fields(arch, attn_factor=0.5, yarn_beta_fast=8.0))
    scaling = load_config(path).rotary_config.scaling
    assert scaling["beta_fast"] == 8.0
    assert scaling["attention_factor"] == pytest.approx(0.5 * (0.1 * math.log(4) + 1))


def test_llama_3_scaling_is_found_by_its_divisors(tmp_path: Path) -> None:
    from minisgl.layers.rotary import inverse_frequencies, llama3_frequencies

    config, path = tiny_config("llama", rotary_config=LLAMA3), tmp_path / "m.gguf"
    weights = tiny_state_dict(config, 0)
    inverse = inverse_frequencies(16, 5e5)
    divisors = (inverse / llama3_frequencies(inverse, 32.0, 1.0, 4.0, 8192)).numpy()
    write_gguf(path, config, weights, tensors={"rope_freqs.weight": divisors})
    engine = load(path)
    assert engine.model_config == config
    assert same_weights(engine, config, weights)
    for other in (divisors * 2, divisors[:4], np.ones_like(divisors) + 1):
        write_gguf(path, config, weights, tensors={"rope_freqs.weight": other})
        with pytest.raises(ValueError, match=r"m\.gguf: rope_freqs\.weight .* not Llama 3's"):
            load(path)


def test_end_tokens(tmp_path: Path) -> None:
    config, path = tiny_config("qwen2"), tmp_path / "m.gguf"
    tokens = {
        "tokenizer.ggml.eos_token_id": 7,
        "tokenizer.ggml.eot_token_id": 9,
        "tokenizer.ggml.eom_token_id": 7,
    }
    write_gguf(path, config, tiny_state_dict(config, 0), **tokens)
    assert load_config(path).eos_token_ids == (7, 9)


@pytest.mark.parametrize("kind", [Kind.F32, Kind.F16, Kind.BF16, Kind.Q8_0])
def test_dtype_for_a_gpu(kind: Kind, tmp_path: Path) -> None:
    config, path = tiny_config("qwen2"), tmp_path / "m.gguf"
    write_gguf(path, config, tiny_state_dict(config, 0), kind)
    expected = {Kind.F32: torch.float32, Kind.F16: torch.float16}
    assert load_config(path).dtype == expected.get(kind, torch.bfloat16)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"llama.block_count": None}, r"lacks llama\.block_count"),
        ({"llama.context_length": None}, r"lacks llama\.context_length"),
        ({"llama.attention.head_count": 3}, "3 query heads cannot share 2"),
        ({"llama.attention.head_count": 0}, "head_count"),
        ({"llama.attention.head_count": [4, 4]}, "head_count"),
        ({"llama.embedding_length": "64"}, "embedding_length"),
        ({"llama.attention.sliding_window": 4096}, "sliding window"),
        ({"llama.rope.dimension_count": 8}, r"rope\.dimension_count is 8, but heads have 16"),
        ({"llama.attention.value_length": 8}, "value_length is 8"),
        ({"llama.expert_count": 8}, "with experts is not supported"),
        (
            {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 2.0},
            "'linear' is not supported",
        ),
        ({"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 2.0}, "lacks scaling.original"),
        ({"split.count": 3}, "one part of several"),
        ({"split.count": "3"}, "metadata of a wrong type"),
        ({"tokenizer.ggml.eos_token_id": [1]}, "metadata of a wrong type"),
        ({"tokenizer.ggml.eos_token_id": "x"}, "end-of-sequence tokens must be integers"),
        ({"general.alignment": 7}, "alignment"),
    ],
)
def test_metadata_that_cannot_be_served_is_named(
    fields: dict[str, object], message: str, tmp_path: Path
) -> None:
    config, path = tiny_config("llama"), tmp_path / "m.gguf"
    write_gguf(path, config, tiny_state_dict(config, 0), **fields)
    with pytest.raises(ValueError, match=rf"m\.gguf.*{message}"):
        load(path)


def test_other_models_are_refused(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "gemma3")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(ValueError, match="'gemma3' is not supported; supported are llama, qwen2"):
        load(tmp_path / "m.gguf")


def test_missing_misshapen_and_unknown_tensors_are_named(tmp_path: Path) -> None:
    config, path = tiny_config("llama"), tmp_path / "m.gguf"
    weights = tiny_state_dict(config, 0)
    lacking = {name: weight for name, weight in weights.items() if "1.mlp.down" not in name}
    write_gguf(path, config, lacking)
    with pytest.raises(ValueError, match=r"lacks the tensor model\.layers\.1\.mlp\.down_proj\.weight"):
        load(path)
    write_gguf(path, config, weights, tensors={"output_norm.weight": np.ones(65, np.float32)})
    with pytest.raises(ValueError, match=r"model\.norm\.weight: expected .*\(64,\), got .*\(65,\)"):
        load(path)
    write_gguf(path, config, weights, tensors={"blk.0.attn_sinks.weight": np.ones(4, np.float32)})
    with pytest.raises(ValueError, match=r"model\.layers\.0\.attn_sinks\.weight"):
        load(path)
    write_gguf(path, config, weights, tensors={"output_norm.weight": np.full(64, np.nan, np.float32)})
    with pytest.raises(ValueError, match=r"model\.norm\.weight holds NaN"):
        load(path)
    write_gguf(path, config, weights, tensors={"output_norm.weight": np.ones(64, np.int32)})
    with pytest.raises(ValueError, match=r"output_norm\.weight is I32, which cannot be dequantized"):
        load(path)
