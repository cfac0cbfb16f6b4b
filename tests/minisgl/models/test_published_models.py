"""Configs as they were published, folders as transformers writes them, and fetching by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models import resolve_model
from minisgl.models.config import ModelConfig, RotaryConfig
from minisgl.models.tiny import Arch, prompt, tiny_config, tiny_state_dict

LLAMA_3_1_8B = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "bos_token_id": 128000,
    "eos_token_id": [128001, 128008, 128009],
    "hidden_act": "silu",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 131072,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 128256,
}
MISTRAL_7B_V0_3 = {
    "architectures": ["MistralForCausalLM"],
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 32768,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-05,
    "rope_theta": 1000000.0,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 32768,
}
QWEN_2_5_7B = {
    "architectures": ["Qwen2ForCausalLM"],
    "eos_token_id": 151645,
    "hidden_act": "silu",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "max_position_embeddings": 32768,
    "max_window_layers": 28,
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0,
    "sliding_window": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_sliding_window": False,
    "vocab_size": 152064,
}
QWEN_3_30B_A3B = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "attention_bias": False,
    "decoder_sparse_step": 1,
    "eos_token_id": 151645,
    "head_dim": 128,
    "hidden_act": "silu",
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "max_position_embeddings": 40960,
    "max_window_layers": 48,
    "mlp_only_layers": [],
    "moe_intermediate_size": 768,
    "norm_topk_prob": True,
    "num_attention_heads": 32,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 48,
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000.0,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_sliding_window": False,
    "vocab_size": 151936,
}


def test_llama_3_1() -> None:
    config = ModelConfig.from_hf(LLAMA_3_1_8B)
    assert config.head_dim == 128 and config.eos_token_ids == (128001, 128008, 128009)
    scaling = {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    assert config.rotary_config == RotaryConfig(128, 131072, 5e5, "llama3", scaling)


def test_mistral() -> None:
    config = ModelConfig.from_hf(MISTRAL_7B_V0_3)
    assert config.rotary_config == RotaryConfig(128, 32768, 1e6)
    assert not (config.qkv_bias or config.o_bias or config.qk_norm or config.is_moe)
    first = MISTRAL_7B_V0_3 | {"sliding_window": 4096}
    with pytest.raises(ValueError, match=r"sliding window attention \(4096\)"):
        ModelConfig.from_hf(first)


def test_qwen_2_5_with_yarn_as_its_card_says() -> None:
    scaling = {"factor": 4.0, "original_max_position_embeddings": 32768, "type": "yarn"}
    config = ModelConfig.from_hf(QWEN_2_5_7B | {"rope_scaling": scaling})
    assert (config.qkv_bias, config.o_bias, config.vocab_size) == (True, False, 152064)
    del scaling["type"]
    assert config.rotary_config == RotaryConfig(128, 131072, 1e6, "yarn", scaling)


def test_qwen_3_moe() -> None:
    config = ModelConfig.from_hf(QWEN_3_30B_A3B)
    assert all(config.has_experts(layer) for layer in range(48)) and config.norm_topk_prob
    assert (config.num_experts, config.num_experts_per_tok, config.moe_intermediate_size) == (128, 8, 768)


@pytest.mark.parametrize("arch", ["llama", "mistral", "qwen2", "qwen3", "qwen3_moe"])
def test_a_folder_that_transformers_wrote(arch: Arch, tmp_path: Path, peer) -> None:
    """Under its own names of entries, in several files, with experts one by one."""
    config = tiny_config(arch, tie_word_embeddings=False)
    weights = tiny_state_dict(config, seed=0)
    peer(config, weights).save_pretrained(tmp_path, max_shard_size="100KB")
    assert (tmp_path / "model.safetensors.index.json").is_file()
    params = SamplingParams(max_tokens=6, ignore_eos=True)
    results = []
    for source in (tmp_path, (config, weights)):
        llm = LLM(source, num_page_override=64, max_running_req=2)
        assert llm.engine.model_config == config
        results.append(llm.generate([prompt(0, 7), prompt(3, 4)], params))
    assert results[0] == results[1]


def test_a_hub_id_is_fetched_without_other_forms_of_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = [
        "config.json",
        "generation_config.json",
        "model-00001-of-00002.safetensors",
        "model.safetensors.index.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "chat_template.jinja",
        "merges.txt",
    ]
    others = [
        "consolidated.safetensors",
        "original/params.json",
        "pytorch_model.bin",
        "onnx/model.onnx",
        "README.md",
    ]

    def snapshot_download(repo_id: str, *, allow_patterns: list[str], ignore_patterns: list[str]) -> str:
        assert repo_id == "some/model-1B"
        fetched = huggingface_hub.utils.filter_repo_objects(
            published + others, allow_patterns=allow_patterns, ignore_patterns=ignore_patterns
        )
        assert list(fetched) == published
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert resolve_model("some/model-1B") == tmp_path


@pytest.mark.parametrize("error", [LocalEntryNotFoundError("no network"), OSError("disk full")])
def test_what_cannot_be_fetched_is_said(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def snapshot_download(*args: Any, **settings: Any) -> str:
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    with pytest.raises(
        FileNotFoundError, match=rf"some/model is no folder here, and could not be fetched: {error}"
    ):
        resolve_model("some/model")


def test_weights_of_a_layer() -> None:
    """Merged and stacked, with biases and norms of heads where the model has them."""
    from minisgl.models import create_model

    for published in (LLAMA_3_1_8B, MISTRAL_7B_V0_3, QWEN_2_5_7B, QWEN_3_30B_A3B):
        small = published | {"num_hidden_layers": 2, "max_position_embeddings": 64}
        weights = create_model(ModelConfig.from_hf(small), torch.device("cpu"), torch.bfloat16).state_dict()
        assert all(weight.is_meta for weight in weights.values())
        layer = [name for name in weights if ".layers.1." in name]
        assert len(layer) == {"Qwen2ForCausalLM": 7, "Qwen3MoeForCausalLM": 9}.get(
            published["architectures"][0], 6
        )
