"""minisgl: a small LLM serving engine that a person can read, and that really serves.

The names follow the official mini-sglang, so that both can be read side by side. Importing this package is
cheap: nothing but torch and the standard library is needed to run a model on the CPU.
"""

from .core import Batch, Context, Req, SamplingParams

__all__ = ["Batch", "Context", "Req", "SamplingParams"]
