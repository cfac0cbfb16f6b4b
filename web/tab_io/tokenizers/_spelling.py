"""GPT-2's spelling of bytes: each is a printable character, those of Latin-1 stand for themselves."""

from __future__ import annotations

GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

_printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_others = [byte for byte in range(256) if byte not in _printable]
BYTE_OF_CHAR = {chr(byte): byte for byte in _printable} | {
    chr(256 + i): byte for i, byte in enumerate(_others)
}
CHAR_OF_BYTE = {byte: char for char, byte in BYTE_OF_CHAR.items()}


def bytes_of(piece: str) -> bytes:
    """The bytes of a token; one with another character than these stands for itself."""
    try:
        return bytes([BYTE_OF_CHAR[char] for char in piece])
    except KeyError:
        return piece.encode("utf-8")
