"""The engine as an object with one method, `generate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import torch

from ..core import SamplingParams
from ..engine.config import ModelSource
from ..message import AbortBackendMsg, UserMsg
from ..scheduler import Scheduler, SchedulerConfig
from ..scheduler.utils import record_setup
from ..tokenizer.tokenize import check_token_ids, encode_text
from ..utils import trace
from ..utils.hf import Tokenizer, load_tokenizer
from ..utils.stream import on_stream
from .output import Generation, Output

Prompt: TypeAlias = str | Sequence[int]
_BYTES = (bytes, bytearray, memoryview)  # sequences of ints, too, but hardly token ids


class LLM(Scheduler):
    """A model that continues prompts, all of a call at the same time.

    `model` is a name (`minisgl-tiny`, `smollm2`), a folder, a `.gguf` file, a hub id, or a pair of a
    `ModelConfig` and a state dict in Hugging Face names. The other settings are those of `SchedulerConfig`.
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
            on_token: called with the index of the result and the token, for each token as it is generated.

        Returns:
            `n` results a prompt, one after the other, in the order of the prompts. With a seed, the i-th of
            them has the seed plus i.

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
            outputs = {msg.uid: Output(i, msg.sampling_params, self.tokenizer) for i, msg in enumerate(msgs)}
            self._run(msgs, outputs, on_token)
            return [output.result(uid) for uid, output in outputs.items()]
        finally:
            self._is_generating = False

    def shutdown(self) -> None:
        """Release the model and its memory. RuntimeError while `generate` runs."""
        if self._is_generating:
            raise RuntimeError("generate is running: shut down when it has returned")
        super().shutdown()

    def reset(self) -> None:
        """Drop all requests and cached prefixes.

        Raises:
            RuntimeError: `generate` runs, or the LLM was shut down.
        """
        if self._is_generating:
            raise RuntimeError("generate is running: reset when it has returned")
        if self.is_shut_down:
            raise RuntimeError("this LLM was shut down: make a new one")
        super().reset()

    def _run(
        self, msgs: list[UserMsg], outputs: dict[int, Output], on_token: Callable[[int, int], None] | None
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
            super().reset()
            raise

    def _collect(self, running: dict[int, Output]) -> list[tuple[int, int]]:
        """Add what has been sent to the outputs, and take out of `running` those that are complete.

        Returns the result's index and the token, for each token of text.
        """
        new: list[tuple[int, int]] = []
        while self.outbox:
            msg = self.outbox.popleft()
            output = running.get(msg.uid)
            if output is None:  # a stop string has ended it while this was on its way
                continue
            if output.add(msg):
                new.append((output.index, msg.next_token))
            if output.finish_reason is not None:
                if not msg.finished:  # the scheduler knows nothing of stop strings
                    self.inbox.append(AbortBackendMsg(msg.uid))
                tokens = len(output.token_ids)
                trace.emit("finished", req=msg.uid, reason=output.finish_reason, tokens=tokens)
                del running[msg.uid]
        return new

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
            if params.stop and self.tokenizer is None:
                raise ValueError("stop strings need a tokenizer, which the model does not have")
        input_ids = [self._input_ids(index, prompt) for index, prompt in enumerate(prompts)]
        pairs = [
            (ids, choice)
            for ids, params in zip(input_ids, sampling_params, strict=True)
            for choice in params.choices()
        ]
        return [UserMsg(self._next_uid + i, ids, params) for i, (ids, params) in enumerate(pairs)]

    def _input_ids(self, index: int, prompt: object) -> torch.Tensor:
        """The prompt as int32 [n], checked. An error names the prompt by its index."""
        what = f"prompt {index}"
        if isinstance(prompt, str):
            given: Sequence[object] = encode_text(what, prompt, self.tokenizer)
        elif isinstance(prompt, Sequence) and not isinstance(prompt, _BYTES):
            given = list(prompt)
        else:
            raise TypeError(f"{what} must be a text or a list of token ids, not {_kind(prompt)}")
        input_ids = check_token_ids(what, given, self.engine.model_config.vocab_size)
        try:
            self.check_prompt(len(input_ids))
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from None
        return input_ids


def _kind(value: object) -> str:
    return type(value).__name__
