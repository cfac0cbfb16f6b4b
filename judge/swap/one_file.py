"""The one-file engine of chapter 0, with the face of an LLM: what its two functions are put into.

It runs on the CPU, one request after the other, and has no pages. What a step computes is traced as the
scheduler of an LLM does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch

from examples import ch00_tiny_engine as tiny
from judge.swap.install import SwapError, replaced
from minisgl.utils import trace

if TYPE_CHECKING:
    from minisgl.core import SamplingParams
    from minisgl.models import ModelConfig

SLUGS = ("greedy_generate", "causal_mask")
"""Exercises whose function belongs to the file."""


class OneFileEngine:
    """A model of Qwen3's shape with tied embeddings, in the one file. `source`: its config, its weights."""

    def __init__(self, source: tuple[ModelConfig, dict[str, torch.Tensor]]) -> None:
        self.config, self.weights = source
        self.on_logits: Callable[[list[float]], None] = lambda logits: None
        self._next_uid = 0

    def generate(
        self,
        prompts: Sequence[list[int]],
        sampling_params: SamplingParams,
        *,
        on_token: Callable[[int, int], None] | None = None,
    ) -> list[dict[str, Any]]:
        """Continue each prompt greedily, as LLM.generate does. Raises SwapError when no tokens come back."""
        eos = None if sampling_params.ignore_eos else next(iter(self.config.eos_token_ids), None)
        results = []
        with self._in_shape():
            for index, prompt in enumerate(prompts):
                forward = self._watched(tiny.TinyEngine(self.weights).forward)
                tokens = tiny.greedy_generate(forward, list(prompt), sampling_params.max_tokens, eos)
                self._next_uid += 1
                if not isinstance(tokens, list) or any(type(token) is not int for token in tokens):
                    raise SwapError("swap_tokens")
                if on_token is not None:
                    for token in tokens:
                        on_token(index, token)
                results.append({"token_ids": tokens})
        return results

    def pages(self) -> dict[str, Any]:
        """What the engine program says of pages: here there are none."""
        return {"integrity": "", "pages": {"total": 0, "free": [], "cached": []}, "left": [0, 0]}

    def setup(self) -> dict[str, Any]:
        """See EngineSetup in judge/types.py."""
        name = type(self).__name__.removesuffix("Engine")
        return {
            "device": "cpu",
            "dtype": "float32",
            "prefill": name,
            "decode": name,
            "graphs": [],
            "overlap": False,
        }

    def _watched(self, forward: Callable[[list[int], int], list[float]]) -> Callable[..., list[float]]:
        """`forward` of one request: each call is a step in the trace."""
        uid = self._next_uid

        def watched(ids: list[int], start: int) -> list[float]:
            trace.emit("batch", phase="decode" if start else "prefill", uids=[uid], tokens=[len(ids)])
            logits = forward(ids, start)
            self.on_logits(logits)
            return logits

        return watched

    @contextmanager
    def _in_shape(self) -> Iterator[None]:
        """The file's constants are this model's."""
        config = self.config
        shape = {
            "VOCAB": config.vocab_size,
            "HIDDEN": config.hidden_size,
            "LAYERS": config.num_layers,
            "HEADS": config.num_qo_heads,
            "KV_HEADS": config.num_kv_heads,
            "HEAD_DIM": config.head_dim,
            "FFN": config.intermediate_size,
            "EPS": config.rms_norm_eps,
            "ROPE_BASE": config.rotary_config.base,
        }
        with ExitStack() as stack:
            for name, value in shape.items():
                stack.enter_context(replaced(tiny, name, value))
            yield


@contextmanager
def put(engine: object, name: str, function: Any) -> Iterator[None]:
    """The file's `name` means `function`. TypeError when `engine` is another one."""
    if not isinstance(engine, OneFileEngine):
        raise TypeError(f"{name} belongs to the one-file engine, not to {type(engine).__name__}")
    with replaced(tiny, name, function):
        yield
