"""Chapter 13: when a new token's text may be shown. Each token here is one byte.

python examples/ch13_tokenizer.py
"""

from collections.abc import Sequence

from minisgl.message import DetokenizeMsg
from minisgl.tokenizer.detokenize import DetokenizeManager

TEXT = "a中🙂"


class ByteTokenizer:
    """A vocabulary of the 256 bytes."""

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, token_ids: Sequence[int]) -> str:
        return bytes(token_ids).decode(errors="replace")

    def batch_decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        return [self.decode(token_ids) for token_ids in sequences]


def main() -> None:
    tokenizer = ByteTokenizer()
    manager, ids = DetokenizeManager(tokenizer), tokenizer.encode(TEXT)
    pieces: list[str] = []
    for i, token in enumerate(ids):
        pieces += manager.detokenize([DetokenizeMsg(0, token, finished=i == len(ids) - 1)])
    print(pieces)
    print("joined equals full decode:", "".join(pieces) == tokenizer.decode(ids))


if __name__ == "__main__":
    main()
