"""The engine: model, KV pool, page table and sampler of one device."""

from .config import EngineConfig, ModelSource
from .engine import Engine, ForwardOutput, plan_num_pages
from .sample import NO_TOKEN, BatchSamplingArgs, Sampler, filter_probs

__all__ = [
    "NO_TOKEN",
    "BatchSamplingArgs",
    "Engine",
    "EngineConfig",
    "ForwardOutput",
    "ModelSource",
    "Sampler",
    "filter_probs",
    "plan_num_pages",
]
