"""The five prompts of chapter 8, which both tokenizers must split alike."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def five() -> list[str]:
    return [
        "The capital of France is",
        "List three prime numbers:",
        "def fibonacci(n):",
        "Once upon a time, in a small village by the sea, there lived",
        "1 + 1 =",
    ]
