"""From prompts to token ids, for whoever takes prompts from outside."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..message import TokenizeMsg
from ..utils.hf import Tokenizer
from .chat import ChatTemplate


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
    for position, token in enumerate(token_ids):
        if type(token) is not int:
            raise TypeError(f"{what} holds {token!r} at position {position}, which is no int")
        if not 0 <= token < vocab_size:
            raise ValueError(
                f"{what} holds {token} at position {position}, a token id outside of the vocabulary,"
                f" 0 to {vocab_size - 1}"
            )
    return torch.tensor(token_ids, dtype=torch.int32)


class TokenizeManager:
    """Turns the prompts that clients send into token ids of one model."""

    def __init__(self, tokenizer: Tokenizer | None, template: ChatTemplate | None, vocab_size: int) -> None:
        self.tokenizer = tokenizer
        self.template = template
        self.vocab_size = vocab_size

    def tokenize(self, msgs: Sequence[TokenizeMsg]) -> list[torch.Tensor | str]:
        """For each message its prompt as int32 [n], or the sentence that says why there is none."""
        return [self._tokenize_one(msg.prompt) for msg in msgs]

    def _tokenize_one(self, prompt: str | list[int] | list[dict[str, object]]) -> torch.Tensor | str:
        try:
            if isinstance(prompt, str):
                ids: Sequence[object] = encode_text("the prompt", prompt, self.tokenizer)
            elif prompt and isinstance(prompt[0], dict):
                ids = self._encode_chat(prompt)
            else:
                ids = prompt
            return check_token_ids("the prompt", ids, self.vocab_size)
        except (TypeError, ValueError) as error:
            return str(error)

    def _encode_chat(self, messages: list[dict[str, object]]) -> list[int]:
        if self.template is None:
            raise ValueError("the model has no chat template: use /v1/completions")
        # The template has written the special tokens that a text needs.
        return encode_text("the chat", self.template.render(messages), self.tokenizer, special_tokens=False)
