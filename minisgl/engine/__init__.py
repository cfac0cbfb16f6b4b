"""The engine: model, KV pool, page table and sampler of one device."""

from .config import EngineConfig, ModelSource
from .engine import Engine, ForwardOutput, plan_num_pages
from .logprobs import TokenLogprobs
from .sample import NO_TOKEN, BatchSamplingArgs, Sampler, filter_probs

__all__ = [
    "NO_TOKEN",
    "BatchSamplingArgs",
    "Engine",
    "EngineConfig",
    "ForwardOutput",
    "ModelSource",
    "Sampler",
    "TokenLogprobs",
    "filter_probs",
    "plan_num_pages",
]
