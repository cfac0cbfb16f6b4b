"""The engine in one process, as an object."""

from .llm import LLM, Generation

__all__ = ["LLM", "Generation"]
