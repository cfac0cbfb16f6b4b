"""The bytes that a token stands for. One that is a part of a character has no text of its own, but bytes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tokenizers


class TokenPieces:
    """Token ids to bytes.

    Two spellings are in use. GPT-2's writes each byte as a printable character (byte-level BPE);
    SentencePiece's writes `▁` for a space, and `<0xE4>` for a byte that has no token of its own.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self._tokenizer = tokenizer
        decoder = tokenizer.decoder
        is_byte_level = decoder is not None and b'"ByteLevel"' in decoder.__getstate__()  # its JSON
        self._bytes_of = byte_characters() if is_byte_level else None
        self._added = set(tokenizer.get_added_tokens_decoder())

    def of(self, token_id: int) -> bytes:
        """The bytes of a token; none when the vocabulary has no such id."""
        piece = self._tokenizer.id_to_token(token_id)
        if piece is None:
            return b""
        if self._bytes_of is not None:
            if token_id in self._added or not self._bytes_of.keys() >= set(piece):
                return str(piece).encode()  # it stands in the vocabulary as it is
            return bytes(self._bytes_of[char] for char in piece)
        byte = re.fullmatch(r"<0x([0-9A-Fa-f]{2})>", piece)
        return bytes.fromhex(byte[1]) if byte else str(piece).replace("▁", " ").encode()


@lru_cache(maxsize=1)
def byte_characters() -> dict[str, int]:
    """The printable character of each byte in byte-level BPE, and the byte.

    Bytes that are printable in Latin-1 stand for themselves, the others follow from U+0100 on (Radford et
    al., GPT-2, 2019).
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    spelled = {chr(byte): byte for byte in printable}
    return spelled | {chr(256 + i): byte for i, byte in enumerate(others)}
