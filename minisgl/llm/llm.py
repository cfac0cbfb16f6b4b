"""The engine as an object with one method, `generate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypedDict

import torch

from ..core import SamplingParams
from ..engine.config import ModelSource
from ..message import DetokenizeMsg, UserMsg
from ..scheduler import Scheduler, SchedulerConfig
from ..utils import trace
from ..utils.hf import Tokenizer, load_tokenizer

Prompt: TypeAlias = str | Sequence[int]


class Generation(TypedDict):
    """What one prompt was continued with."""

    uid: int  # of the request, as traces name it
    text: str  # empty when the model has no tokenizer
    token_ids: list[int]  # without the end-of-sequence token
    finish_reason: Literal["length", "stop"]  # "stop": the model ended the text itself


class LLM(Scheduler):
    """A model that continues prompts, all of a call at the same time.

    `model` is a name (`minisgl-tiny`, `smollm2`), a folder, a hub id, or a pair of a `ModelConfig` and a
    state dict in Hugging Face names. The other settings are those of `SchedulerConfig`.
    """

    def __init__(
        self, model: ModelSource = "minisgl-tiny", *, dtype: torch.dtype | None = None, **settings: Any
    ) -> None:
        super().__init__(SchedulerConfig(model=model, dtype=dtype, **settings))
        self._next_uid = 0

    @cached_property
    def tokenizer(self) -> Tokenizer | None:
        """The model's tokenizer, read at first use; None when it has none, as a model in memory."""
        if self.engine.model_path is None:
            return None
        try:
            return load_tokenizer(self.engine.model_path)
        except FileNotFoundError:
            return None

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        *,
        on_token: Callable[[int, int], None] | None = None,
    ) -> list[Generation]:
        """Continue each prompt.

        Args:
            prompts: texts or lists of token ids. sampling_params: one for all prompts, or one each.
            `max_tokens` is cut to what a sequence can hold. on_token: called with the prompt's index and
            each token as it is generated.

        Returns:
            One result a prompt, in the order of the prompts.

        Raises:
            TypeError: an argument of another type. ValueError: a prompt is empty, too long, or holds an id
            that the model does not have. Nothing has been computed then.

        After any error, of a callback too, no request is left, all pages are free and the LLM can be used
        again.
        """
        msgs = self._make_msgs(prompts, sampling_params)
        first_uid = self._next_uid
        self._next_uid += len(msgs)
        outputs: list[list[int]] = [[] for _ in msgs]
        reasons: dict[int, Literal["length", "stop"]] = {}
        try:
            self.inbox.extend(msgs)
            while len(reasons) < len(msgs):
                self.normal_loop()
                while self.outbox:
                    msg = self.outbox.popleft()
                    index = msg.uid - first_uid
                    is_eos = self._ends_text(msg, msgs[index].sampling_params)
                    if not is_eos:
                        outputs[index].append(msg.next_token)
                    if msg.finished:
                        reasons[index] = "stop" if is_eos else "length"
                        trace.emit("finished", req=msg.uid, reason=reasons[index], tokens=len(outputs[index]))
                    if on_token is not None and not is_eos:
                        on_token(index, msg.next_token)
            self.run_when_idle()
        except BaseException:
            self.reset()
            raise
        return [
            Generation(uid=msg.uid, text=self._decode(ids), token_ids=ids, finish_reason=reasons[index])
            for index, (msg, ids) in enumerate(zip(msgs, outputs, strict=True))
        ]

    def _make_msgs(
        self, prompts: Sequence[Prompt], sampling_params: SamplingParams | Sequence[SamplingParams] | None
    ) -> list[UserMsg]:
        if isinstance(prompts, str) or not isinstance(prompts, Sequence):
            raise TypeError(f"prompts must be a list of texts or of lists of token ids, not {_kind(prompts)}")
        if sampling_params is None:
            sampling_params = SamplingParams()
        if isinstance(sampling_params, SamplingParams):
            sampling_params = [sampling_params] * len(prompts)
        elif not isinstance(sampling_params, Sequence):
            raise TypeError(f"sampling_params must be SamplingParams or a list, not {_kind(sampling_params)}")
        if len(sampling_params) != len(prompts):
            raise ValueError(f"{len(prompts)} prompts, but {len(sampling_params)} sampling_params")
        for params in sampling_params:
            if not isinstance(params, SamplingParams):
                raise TypeError(f"sampling_params must be SamplingParams, not {_kind(params)}")
        return [
            UserMsg(self._next_uid + index, self._input_ids(index, prompt), params)
            for index, (prompt, params) in enumerate(zip(prompts, sampling_params, strict=True))
        ]

    def _input_ids(self, index: int, prompt: object) -> torch.Tensor:
        """The prompt as int32 [n], checked. An error names the prompt by its index."""
        if isinstance(prompt, str):
            if self.tokenizer is None:
                raise ValueError(f"prompt {index} is a text, but the model has no tokenizer: give token ids")
            token_ids = self.tokenizer.encode(prompt)
        elif not isinstance(prompt, Sequence) or any(type(token) is not int for token in prompt):
            raise TypeError(f"prompt {index} must be a text or a list of token ids, not {_kind(prompt)}")
        else:
            token_ids = list(prompt)
        vocab_size = self.engine.model_config.vocab_size
        if token_ids and not 0 <= min(token_ids) <= max(token_ids) < vocab_size:
            raise ValueError(
                f"prompt {index} holds a token id outside of the vocabulary, 0 to {vocab_size - 1}"
            )
        try:
            self.check_prompt(len(token_ids))
        except ValueError as error:
            raise ValueError(f"prompt {index}: {error}") from None
        return torch.tensor(token_ids, dtype=torch.int32)

    def _ends_text(self, msg: DetokenizeMsg, params: SamplingParams) -> bool:
        return msg.finished and not params.ignore_eos and msg.next_token in self.eos_token_ids

    def _decode(self, token_ids: list[int]) -> str:
        return "" if self.tokenizer is None else self.tokenizer.decode(token_ids)


def _kind(value: object) -> str:
    return type(value).__name__
