"""The bytes that a token stands for. One that is a part of a character has no text of its own, but bytes."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path


class TokenPieces:
    """Token ids to bytes, from a `tokenizer.json`.

    Two spellings are in use. GPT-2's writes each byte as a printable character (byte-level BPE);
    SentencePiece's writes `▁` for a space, and `<0xE4>` for a byte that has no token of its own.
    """

    def __init__(self, path: Path) -> None:
        import tokenizers

        self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        decoder = json.dumps(json.loads(path.read_text(encoding="utf-8")).get("decoder"))
        self._bytes_of = byte_characters() if '"ByteLevel"' in decoder else None
        self._special = set(self._tokenizer.get_added_tokens_decoder())

    def of(self, token_id: int) -> bytes:
        """The bytes of a token; none when the vocabulary has no such id."""
        piece = self._tokenizer.id_to_token(token_id)
        if piece is None:
            return b""
        if token_id in self._special:
            return str(piece).encode()
        if self._bytes_of is not None:
            return bytes(self._bytes_of[char] for char in piece)
        if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            return bytes.fromhex(piece[3:5])
        return str(piece).replace("▁", " ").encode()


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
