"""Reading the tokenizer that comes with a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import tokenizers


class Tokenizer(Protocol):
    """What the engine asks of a tokenizer."""

    def encode(self, text: str, special_tokens: bool = True) -> list[int]:
        """Token ids of a text, with the special tokens that the model expects around it unless the text has
        them already, as that of a chat does.
        """

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of token ids, without special tokens. An id that the tokenizer does not have is one."""

    def batch_decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """`decode` of each."""


class FastTokenizer:
    """A tokenizer of the tokenizers library, or the `tokenizer.json` of one."""

    def __init__(self, source: Path | tokenizers.Tokenizer) -> None:
        import tokenizers  # here, because a browser has no such module

        if isinstance(source, tokenizers.Tokenizer):
            self._tokenizer = source
            return
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(source))
        except Exception as error:  # the library raises nothing more specific
            raise ValueError(f"{source} is damaged, fetch it again: {error}") from error

    @property
    def library(self) -> tokenizers.Tokenizer:
        """The library's object, for whoever wants to know more of the vocabulary."""
        return self._tokenizer

    def encode(self, text: str, special_tokens: bool = True) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=special_tokens).ids
        return ids

    def decode(self, token_ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(list(token_ids), skip_special_tokens=True)
        return text

    def batch_decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        # one by one: for short sequences the library's threads cost more than they do
        return [self.decode(token_ids) for token_ids in sequences]


class NoTokenizer:
    """Stands for a tokenizer that the model has and this engine does not: the model takes token ids only."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def encode(self, text: str, special_tokens: bool = True) -> list[int]:
        raise ValueError(f"no text can be turned into tokens: {self.reason}. Give token ids")

    def decode(self, token_ids: Sequence[int]) -> str:
        return ""

    def batch_decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        return [""] * len(sequences)


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a model folder or a GGUF file.

    Raises:
        FileNotFoundError: the folder has no `tokenizer.json`.
        ValueError: there is one that cannot be read.
    """
    if path.suffix == ".gguf":
        return _gguf_tokenizer(path)
    file = path / "tokenizer.json"
    if not file.is_file():
        raise FileNotFoundError(f"{path} has no tokenizer.json")
    return FastTokenizer(file)


def _gguf_tokenizer(path: Path) -> Tokenizer:
    from .gguf_file import GGUFFile
    from .gguf_tokenizer import UnsupportedTokenizerError, tokenizer_from_gguf

    try:
        return FastTokenizer(tokenizer_from_gguf(GGUFFile(path).fields))
    except UnsupportedTokenizerError as error:
        return NoTokenizer(f"{path}: {error}")
    except KeyError as error:
        return NoTokenizer(f"{path} lacks {error.args[0]}")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
