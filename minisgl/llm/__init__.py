"""Offline generation."""

from .llm import LLM, Generation

__all__ = ["LLM", "Generation"]
