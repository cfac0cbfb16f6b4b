"""What the engine asks of a model."""

from __future__ import annotations

from abc import abstractmethod

import torch

from ..layers import BaseOP


class BaseLLMModel(BaseOP):
    """A model that reads the current batch from the global context."""

    @abstractmethod
    def forward(self) -> torch.Tensor:
        """Logits of each request's next token, [requests of the batch, vocab_size]."""
