"""The engine: model, KV pool, page table and sampler of one device."""

from .config import EngineConfig, ModelSource
from .engine import Engine, ForwardOutput, plan_num_pages
from .sample import BatchSamplingArgs, Sampler, filter_probs

__all__ = [
    "BatchSamplingArgs",
    "Engine",
    "EngineConfig",
    "ForwardOutput",
    "ModelSource",
    "Sampler",
    "filter_probs",
    "plan_num_pages",
]
