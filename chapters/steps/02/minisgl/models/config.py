"""A model's shape, read from the `config.json` that Hugging Face checkpoints bring."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from ..utils import check_count, is_int, is_number, read_json

ROPE_KINDS = ("default", "llama3", "yarn")
_MAX_LAYERS = 1000  # no model comes near: what says more is damaged, and would be built for hours
_MAX_POSITIONS = 2**24  # the rotary table is computed in float32, where odd numbers end here


@dataclass(frozen=True)
class RotaryConfig:
    """How positions become rotations."""

    head_dim: int
    max_position: int  # positions that the table has
    base: float
    kind: str = "default"  # one of ROPE_KINDS
    scaling: Mapping[str, float] = field(default_factory=dict)  # the numbers that llama3 and yarn need

    def __post_init__(self) -> None:
        for name in ("head_dim", "max_position"):
            check_count(name, getattr(self, name))
        if self.head_dim % 2:
            raise ValueError(f"head_dim must be even, for dimensions turn in pairs, not {self.head_dim}")
        for name, value in {"rope_theta": self.base, **self.scaling}.items():
            if not is_number(value) or not 0 < value < math.inf:
                raise ValueError(f"{name} of the rotary embedding must be a number above 0, not {value!r}")
        if self.max_position > _MAX_POSITIONS:
            raise ValueError(
                f"{self.max_position} positions are too many: at most {_MAX_POSITIONS} are supported"
            )
        low, high = self.scaling.get("low_freq_factor"), self.scaling.get("high_freq_factor")
        if low is not None and high is not None and low >= high:
            raise ValueError(f"low_freq_factor {low} must be below high_freq_factor {high}")


@dataclass(frozen=True)
class ModelConfig:
    """Shape of a decoder.

    Raises:
        ValueError: an entry has a value that no model can have; the message names it.
    """

    architecture: str  # "Qwen3ForCausalLM", ...
    num_layers: int
    hidden_size: int
    num_qo_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    rms_norm_eps: float
    rotary_config: RotaryConfig
    tie_word_embeddings: bool = False
    qk_norm: bool = False  # norms on query and key heads (Qwen3)
    qkv_bias: bool = False
    o_bias: bool = False
    mlp_bias: bool = False
    dtype: torch.dtype = torch.float32  # of the checkpoint
    eos_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in _COUNTS:
            check_count(name, getattr(self, name))
        if self.num_layers > _MAX_LAYERS:
            raise ValueError(f"a model of {self.num_layers} layers is not supported: {_MAX_LAYERS} at most")
        if self.num_qo_heads % self.num_kv_heads:
            raise ValueError(
                f"{self.num_qo_heads} query heads cannot share {self.num_kv_heads} key/value heads evenly"
            )
        if not is_number(self.rms_norm_eps) or not 0 <= self.rms_norm_eps < 1:
            raise ValueError(f"rms_norm_eps must be a small number, not {self.rms_norm_eps!r}")
        if not all(is_int(token) for token in self.eos_token_ids):
            raise ValueError(f"end-of-sequence tokens must be integers, not {list(self.eos_token_ids)}")

    @property
    def kv_elements_per_token(self) -> int:
        """Numbers that the KV pool keeps for one token, over all layers."""
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim

    @classmethod
    def from_hf(cls, config: Mapping[str, Any]) -> ModelConfig:
        """Translate a parsed `config.json`.

        Raises:
            ValueError: something is missing, or the model needs what this engine does not have.
        """
        named = config.get("architectures") or "(none)"
        architecture = named[0] if isinstance(named, list) else named
        if architecture not in SUPPORTED_ARCHITECTURES:
            raise ValueError(
                f"architecture {architecture} is not supported; supported are {', '.join(_BIAS_OF_QKV)}"
            )
        _refuse_unsupported(config)
        try:
            num_heads, hidden_size = config["num_attention_heads"], config["hidden_size"]
            check_count("num_attention_heads", num_heads)
            check_count("hidden_size", hidden_size)
            head_dim = config.get("head_dim") or hidden_size // num_heads
            attention_bias = _flag(config, "attention_bias")
            return cls(
                architecture=architecture,
                num_layers=config["num_hidden_layers"],
                hidden_size=hidden_size,
                num_qo_heads=num_heads,
                num_kv_heads=config.get("num_key_value_heads") or num_heads,
                head_dim=head_dim,
                intermediate_size=config["intermediate_size"],
                vocab_size=config["vocab_size"],
                rms_norm_eps=config["rms_norm_eps"],
                rotary_config=_rotary_config(config, head_dim),
                tie_word_embeddings=_flag(config, "tie_word_embeddings"),
                qk_norm=architecture == "Qwen3ForCausalLM",
                qkv_bias=_BIAS_OF_QKV[architecture] or attention_bias,
                o_bias=attention_bias,
                mlp_bias=_flag(config, "mlp_bias"),
                dtype=_dtype(config.get("dtype") or config.get("torch_dtype")),
                eos_token_ids=_token_ids(config.get("eos_token_id")),
            )
        except KeyError as error:
            raise ValueError(f"the model's config lacks {error.args[0]!r}") from error

    @classmethod
    def from_folder(cls, folder: Path) -> ModelConfig:
        """Read `config.json`; the end tokens of `generation_config.json`, where it is, win.

        Raises:
            FileNotFoundError: there is no config.json.
            ValueError: it is not a config that this engine can serve.
        """
        path = folder / "config.json"
        if not path.is_file():
            raise FileNotFoundError(f"{folder} is not a model folder: it has no config.json")
        config = read_json(path)
        generation_path = folder / "generation_config.json"
        if generation_path.is_file():
            generation = read_json(generation_path)
            if generation.get("eos_token_id") is not None:
                config["eos_token_id"] = generation["eos_token_id"]
        try:
            return cls.from_hf(config)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


_COUNTS = (
    "num_layers",
    "hidden_size",
    "num_qo_heads",
    "num_kv_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
)
# Architectures, and whether their query, key and value projections always have a bias.
_BIAS_OF_QKV = {
    "LlamaForCausalLM": False,
    "MistralForCausalLM": False,
    "Qwen2ForCausalLM": True,
    "Qwen3ForCausalLM": False,
}
SUPPORTED_ARCHITECTURES = tuple(_BIAS_OF_QKV)


def _refuse_unsupported(config: Mapping[str, Any]) -> None:
    activation = config.get("hidden_act", "silu")
    if activation != "silu":
        raise ValueError(f"activation {activation!r} is not supported, only 'silu'")
    if config.get("quantization_config"):
        raise ValueError("quantized checkpoints are not supported; take the unquantized one")
    # Qwen configs carry a window that is switched off; Mistral's has no switch.
    if config.get("sliding_window") and config.get("use_sliding_window", True):
        raise ValueError(f"sliding window attention ({config['sliding_window']} tokens) is not supported")


def _flag(config: Mapping[str, Any], name: str) -> bool:
    value = config.get(name) or False
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, not {value!r}")
    return value


def _rotary_config(config: Mapping[str, Any], head_dim: int) -> RotaryConfig:
    """From `rope_parameters` (transformers 5), or from `rope_theta` and `rope_scaling` (before)."""
    parameters = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(parameters, dict):
        raise ValueError(f"the parameters of the rotary embedding must be an object, not {parameters!r}")
    parameters = dict(parameters)
    base = parameters.pop("rope_theta", None) or config.get("rope_theta") or 10000.0
    old_kind = parameters.pop("type", "default")
    kind = parameters.pop("rope_type", old_kind)
    if kind not in ROPE_KINDS:
        raise ValueError(f"rope scaling {kind!r} is not supported; supported are {', '.join(ROPE_KINDS)}")
    if parameters.pop("partial_rotary_factor", None) not in (None, 1.0):
        raise ValueError("rotating only a part of each head (partial_rotary_factor) is not supported")
    if parameters.get("mscale") or parameters.get("truncate") is False:
        raise ValueError("YaRN with mscale or without truncation is not supported")
    max_position = config["max_position_embeddings"]
    if kind == "default":
        return RotaryConfig(head_dim, max_position, base)

    needed = ["factor", "original_max_position_embeddings"]
    if kind == "llama3":
        needed += ["low_freq_factor", "high_freq_factor"]
    if kind == "yarn" and "original_max_position_embeddings" not in parameters:
        parameters["original_max_position_embeddings"] = max_position
    missing = [name for name in needed if parameters.get(name) is None]
    if missing:
        raise ValueError(f"rope scaling {kind!r} needs {', '.join(missing)}, which the config lacks")
    scaling = {name: value for name, value in parameters.items() if value is not None}
    rotary = RotaryConfig(head_dim, max_position, base, kind, scaling)
    if kind == "yarn":  # some configs give the context before stretching, some the one after
        stretched = int(scaling["factor"] * scaling["original_max_position_embeddings"])
        return replace(rotary, max_position=max(max_position, stretched))
    return rotary


def _dtype(name: object) -> torch.dtype:
    dtypes = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
    if name is not None and (not isinstance(name, str) or name not in dtypes):
        raise ValueError(f"dtype {name!r} is not supported; supported are {', '.join(dtypes)}")
    return dtypes[name or "float32"]


def _token_ids(value: Any) -> tuple[int, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list) else (value,)
