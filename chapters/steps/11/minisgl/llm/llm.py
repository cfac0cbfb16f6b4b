"""The engine as an object with one method, `generate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypedDict

import torch

from ..core import SamplingParams
from ..engine.config import ModelSource
from ..message import UserMsg
from ..scheduler import Scheduler, SchedulerConfig
from ..scheduler.utils import record_setup
from ..utils import trace
from ..utils.hf import Tokenizer, load_tokenizer
from ..utils.stream import on_stream

Prompt: TypeAlias = str | Sequence[int]
_BYTES = (bytes, bytearray, memoryview)  # sequences of ints, too, but hardly token ids


class Generation(TypedDict):
    """What one prompt was continued with."""

    uid: int  # of the request, as traces name it
    text: str  # empty when the model has no tokenizer
    token_ids: list[int]  # without the end-of-sequence token
    finish_reason: Literal["length", "stop"]  # "stop": the model ended the text itself


@dataclass
class _Output:
    """One request of a running `generate` call."""

    index: int  # of its prompt
    token_ids: list[int] = field(default_factory=list)
    finish_reason: Literal["length", "stop"] | None = None


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
        self._is_generating = False

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
        """Continue each prompt. One call at a time: neither `on_token` nor another thread may call meanwhile.

        Args:
            prompts: texts or lists of token ids.
            sampling_params: one for all prompts, or one each; `max_tokens` is cut to what a sequence holds.
            on_token: called with the index of the prompt and the token, for each token as it is generated.

        Returns:
            One result a prompt, in the order of the prompts.

        Raises:
            TypeError: an argument has another type.
            ValueError: a prompt is empty, too long, or holds an id that the model does not have. Nothing has
                been computed then.
            RuntimeError: a call is running already, or the LLM was shut down. Or the model computes what is
                no number; the message says for which request.

        After any error, one of the callback too, no request is left, all pages are free, and the LLM can be
        used again.
        """
        if self.is_shut_down:
            raise RuntimeError("this LLM was shut down: make a new one")
        if self._is_generating:
            raise RuntimeError("generate is running already: call it again when it has returned")
        if on_token is not None and not callable(on_token):
            raise TypeError(f"on_token must be a function, not {_kind(on_token)}")
        try:
            self._is_generating = True
            self.tokenizer  # noqa: B018 - read before anything is computed: it may be damaged
            msgs = self._make_msgs(prompts, sampling_params)
            self._next_uid += len(msgs)
            outputs = {msg.uid: _Output(i) for i, msg in enumerate(msgs)}
            self._run(msgs, outputs, on_token)
            return [self._result(uid, output) for uid, output in outputs.items()]
        finally:
            self._is_generating = False

    def shutdown(self) -> None:
        """Release the model and its memory. RuntimeError while `generate` runs."""
        if self._is_generating:
            raise RuntimeError("generate is running: shut down when it has returned")
        super().shutdown()

    def _run(
        self, msgs: list[UserMsg], outputs: dict[int, _Output], on_token: Callable[[int, int], None] | None
    ) -> None:
        """Let the scheduler work until every request has ended."""
        running, last_data = dict(outputs), None
        try:
            record_setup(self.config, self.cache_manager, overlap=self.overlap)
            self.inbox.extend(msgs)
            with on_stream(self.stream):
                while self.is_busy:
                    last_data = self.step(last_data)
                    for index, token in self._collect(running):
                        if on_token is not None:
                            on_token(index, token)
                self.run_when_idle()
        except BaseException:
            self.reset()
            raise

    def _collect(self, running: dict[int, _Output]) -> list[tuple[int, int]]:
        """Add what has been sent to the outputs, and take out of `running` those that are complete.

        Returns the prompt's index and the token, for each token of text. RuntimeError when one has failed.
        """
        new: list[tuple[int, int]] = []
        while self.outbox:
            msg = self.outbox.popleft()
            if msg.error is not None:
                raise RuntimeError(msg.error)
            output = running[msg.uid]
            if msg.finish_reason != "stop":
                output.token_ids.append(msg.next_token)
                new.append((output.index, msg.next_token))
            if msg.finished:
                output.finish_reason = "stop" if msg.finish_reason == "stop" else "length"
                tokens = len(output.token_ids)
                trace.emit("finished", req=msg.uid, reason=output.finish_reason, tokens=tokens)
                del running[msg.uid]
        return new

    def _result(self, uid: int, output: _Output) -> Generation:
        text = "" if self.tokenizer is None else self.tokenizer.decode(output.token_ids)
        assert output.finish_reason is not None
        return Generation(uid=uid, text=text, token_ids=output.token_ids, finish_reason=output.finish_reason)

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
            token_ids = self._encode(index, prompt)
        elif isinstance(prompt, Sequence) and not isinstance(prompt, _BYTES):
            token_ids = list(prompt)
        else:
            raise TypeError(f"prompt {index} must be a text or a list of token ids, not {_kind(prompt)}")
        vocab_size = self.engine.model_config.vocab_size
        for position, token in enumerate(token_ids):
            if type(token) is not int:
                raise TypeError(f"prompt {index} holds {token!r} at position {position}, which is no int")
            if not 0 <= token < vocab_size:
                raise ValueError(
                    f"prompt {index} holds {token} at position {position}, a token id outside of the"
                    f" vocabulary, 0 to {vocab_size - 1}"
                )
        try:
            self.check_prompt(len(token_ids))
        except ValueError as error:
            raise ValueError(f"prompt {index}: {error}") from None
        return torch.tensor(token_ids, dtype=torch.int32)

    def _encode(self, index: int, text: str) -> list[int]:
        if self.tokenizer is None:
            raise ValueError(f"prompt {index} is a text, but the model has no tokenizer: give token ids")
        try:
            text.encode()
        except UnicodeEncodeError as error:  # half of a surrogate pair, which no tokenizer takes
            raise ValueError(f"prompt {index} is not valid Unicode: {error}") from None
        return self.tokenizer.encode(text)


def _kind(value: object) -> str:
    return type(value).__name__
