"""Reading the tokenizer that comes with a model folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Tokenizer(Protocol):
    """What the engine asks of a tokenizer."""

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, with the special tokens that the model expects around it."""

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of token ids, without special tokens."""


class FastTokenizer:
    """A `tokenizer.json`, run by the tokenizers library."""

    def __init__(self, path: Path) -> None:
        import tokenizers  # here, because a browser has no such module

        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises nothing more specific
            raise ValueError(f"{path} is damaged, fetch it again: {error}") from error

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def decode(self, token_ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(list(token_ids), skip_special_tokens=True)
        return text


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a model folder.

    Raises:
        FileNotFoundError: it has no `tokenizer.json`.
        ValueError: it has one that cannot be read.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise FileNotFoundError(f"{folder} has no tokenizer.json")
    return FastTokenizer(path)
