"""Offline generation."""

from .llm import LLM
from .output import Generation, TokenLogprob

__all__ = ["LLM", "Generation", "TokenLogprob"]
