"""From prompts to token ids, for whoever takes prompts from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch

from ..message import TokenizeMsg
from ..utils import int_tensor
from ..utils.hf import Tokenizer
from .chat import ChatTemplate

_LIKELY_CHARS = 8  # a token; ordinary text has fewer
_CUT_TOKENS = 64


def encode_text(what: str, text: str, tokenizer: Tokenizer | None, special_tokens: bool = True) -> list[int]:
    """Token ids of a text from outside. Errors call it `what`.

    Raises:
        ValueError: there is no tokenizer, or the text holds half of a surrogate pair, which none takes.
    """
    if tokenizer is None:
        raise ValueError(f"{what} is a text, but the model has no tokenizer: give token ids")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} is not valid Unicode: {error}") from None
    return tokenizer.encode(text, special_tokens)


def check_token_ids(what: str, token_ids: Sequence[object], vocab_size: int) -> torch.Tensor:
    """Token ids from outside as int32 [n]. Errors call them `what`.

    Raises:
        TypeError: one is no int.
        ValueError: one is not in the vocabulary.
    """
    ids = cast(Sequence[int], token_ids)
    # As a whole first: that is twice as fast as one by one.
    all_right = set(map(type, ids)) <= {int} and 0 <= min(ids, default=0) <= max(ids, default=0) < vocab_size
    for position, token in enumerate(() if all_right else ids):
        if type(token) is not int:
            raise TypeError(f"{what} holds {token!r} at position {position}, which is no int")
        if not 0 <= token < vocab_size:
            raise ValueError(
                f"{what} holds {token} at position {position}, a token id outside of the vocabulary,"
                f" 0 to {vocab_size - 1}"
            )
    return int_tensor(ids, torch.int32)


class TokenizeManager:
    """Turns the prompts that clients send into token ids of one model.

    Args:
        tokenizer: None for a model without one, which then takes token ids only.
        template: None for a model that takes no chats.
        max_prompt_tokens: what the engine can compute.
    """

    def __init__(
        self,
        tokenizer: Tokenizer | None,
        template: ChatTemplate | None,
        vocab_size: int,
        max_prompt_tokens: int,
    ) -> None:
        self.tokenizer = tokenizer
        self.template = template
        self.vocab_size = vocab_size
        self.max_prompt_tokens = max_prompt_tokens

    def tokenize(self, msgs: Sequence[TokenizeMsg]) -> list[torch.Tensor | str]:
        """For each message its prompt as int32 [n], or the sentence that says why there is none."""
        return [self._tokenize_one(msg.prompt) for msg in msgs]

    def _tokenize_one(self, prompt: str | list[int] | list[dict[str, object]]) -> torch.Tensor | str:
        try:
            ids = self._token_ids(prompt)
            if len(ids) == 0:
                raise ValueError("the prompt is empty: there is no token to continue")
            self._check_length(len(ids))
            return check_token_ids("the prompt", ids, self.vocab_size)
        except (TypeError, ValueError) as error:
            return str(error)

    def _token_ids(self, prompt: str | list[int] | list[dict[str, object]]) -> Sequence[object]:
        if isinstance(prompt, str):
            return self._encode("the prompt", prompt)
        if prompt and isinstance(prompt[0], dict):
            if self.template is None:
                raise ValueError("the model has no chat template: use /v1/completions")
            # The template has written the special tokens that a text needs.
            return self._encode("the chat", self.template.render(prompt), special_tokens=False)
        return prompt

    def _encode(self, what: str, text: str, special_tokens: bool = True) -> Sequence[int]:
        """The tokens of a text. Of one that is far too long only the beginning is looked at: others wait."""
        size = _LIKELY_CHARS * self.max_prompt_tokens
        while len(text) > size:
            tokens = len(encode_text(what, text[:size], self.tokenizer, special_tokens))
            # cut anywhere, the last word may have become some more tokens
            self._check_length(tokens - _CUT_TOKENS, "more than ")
            size *= 2
        return encode_text(what, text, self.tokenizer, special_tokens)

    def _check_length(self, tokens: int, about: str = "") -> None:
        if tokens > self.max_prompt_tokens:
            most = f"this server can compute {self.max_prompt_tokens} at most"
            raise ValueError(f"the prompt has {about}{tokens} tokens; {most}")
