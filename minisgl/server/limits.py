"""What an engine that has started can do, for those who talk to its clients."""

from __future__ import annotations

from dataclasses import dataclass

from ..scheduler import Scheduler


@dataclass(frozen=True)
class EngineLimits:
    """In tokens, unless the name says otherwise."""

    vocab_size: int
    max_seq_len: int  # of prompt and output together
    max_prompt_tokens: int

    @staticmethod
    def of(scheduler: Scheduler) -> EngineLimits:
        """The limits of a scheduler and its engine."""
        engine = scheduler.engine
        return EngineLimits(
            vocab_size=engine.model_config.vocab_size,
            max_seq_len=engine.max_seq_len,  # never more than the pool holds
            max_prompt_tokens=engine.max_seq_len - 1,  # there must be room for a token of output
        )
