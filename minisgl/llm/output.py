"""What comes of the requests of a `generate` call."""

from __future__ import annotations

from typing import Literal, TypedDict

from ..core import SamplingParams
from ..message import DetokenizeMsg
from ..tokenizer.detokenize import DetokenizeManager, StopWatcher
from ..utils.hf import Tokenizer


class TokenLogprob(TypedDict):
    """How likely the model found a token: natural logarithms, by its logits alone, before penalties,
    temperature and filters.
    """

    token_id: int
    logprob: float
    top: list[tuple[int, float]]  # the likeliest tokens, likeliest first: as many as `logprobs` asked for


class Generation(TypedDict):
    """What one prompt was continued with."""

    uid: int  # of the request, as traces name it
    text: str  # up to the first stop string; empty when the model has no tokenizer
    # without the token that ended the text (end of sequence, or a stop id), but with those of a stop string:
    # it may begin and end inside a token
    token_ids: list[int]
    finish_reason: Literal["length", "stop"]  # "stop": the model ended the text itself
    logprobs: list[TokenLogprob] | None  # one a token of `token_ids`; None when not asked for


class Output:
    """One request of a running `generate` call."""

    def __init__(self, index: int, params: SamplingParams, tokenizer: Tokenizer | None) -> None:
        """`index`: of its result. Stop strings need a tokenizer."""
        self.index = index
        self.token_ids: list[int] = []
        self.finish_reason: Literal["length", "stop"] | None = None
        self._tokenizer = tokenizer
        self._logprobs: list[TokenLogprob] | None = None if params.logprobs is None else []
        self._text = ""  # only kept when it is watched for stop strings
        self._watcher: StopWatcher | None = None
        if params.stop and tokenizer is not None:
            self._watcher = StopWatcher(params.stop)
            self._detokenizer = DetokenizeManager(tokenizer)

    def add(self, msg: DetokenizeMsg) -> bool:
        """Take in a message, and set `finish_reason` if the text ends with it.

        Returns:
            Whether its token is one of the text, not one that ends it.

        Raises:
            RuntimeError: the request has failed.
        """
        if msg.error is not None:
            raise RuntimeError(msg.error)
        is_text = msg.finish_reason != "stop"
        if is_text:
            self.token_ids.append(msg.next_token)
            if self._logprobs is not None and msg.logprob is not None:
                top = [(int(token), value) for token, value in msg.top_logprobs or []]
                self._logprobs.append(TokenLogprob(token_id=msg.next_token, logprob=msg.logprob, top=top))
        if msg.finished:
            self.finish_reason = "length" if is_text else "stop"
        if self._watcher is not None:
            new = self._detokenizer.text_of([msg])[0]
            self._text += self._watcher.feed(new, finished=msg.finished)
            if self._watcher.stopped:
                self.finish_reason = "stop"
        return is_text

    def result(self, uid: int) -> Generation:
        """What `generate` returns, once the text has ended."""
        assert self.finish_reason is not None
        text = self._text
        if self._watcher is None and self._tokenizer is not None:
            text = self._tokenizer.decode(self.token_ids)
        return Generation(
            uid=uid,
            text=text,
            token_ids=self.token_ids,
            finish_reason=self.finish_reason,
            logprobs=self._logprobs,
        )
