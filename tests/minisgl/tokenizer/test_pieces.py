"""The bytes of a token, in every spelling."""

from __future__ import annotations

import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models

from minisgl.models import resolve_model
from minisgl.tokenizer.pieces import TokenPieces, byte_characters
from minisgl.utils.hf import FastTokenizer, load_tokenizer

bundled = load_tokenizer(resolve_model("minisgl-tiny"))
assert isinstance(bundled, FastTokenizer)
pieces = TokenPieces(bundled.library)


@given(st.text())
def test_the_pieces_of_a_text_are_its_bytes(text: str) -> None:
    ids = bundled.encode(text)
    assert b"".join(pieces.of(token) for token in ids) == text.encode()


def test_every_byte_has_a_character_of_its_own() -> None:
    spelled = byte_characters()
    assert sorted(spelled.values()) == list(range(256))
    assert all(char.isprintable() and not char.isspace() for char in spelled)
    # the library's own table, as its pre-tokenizer applies it
    from tokenizers.pre_tokenizers import ByteLevel

    assert set(spelled) == set(ByteLevel.alphabet())
    ((word, _),) = ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str("é \n中")
    assert bytes(spelled[char] for char in word) == "é \n中".encode()


def test_special_tokens_are_spelled_out_and_unknown_ids_are_nothing() -> None:
    (end,) = bundled.encode("<|im_end|>")
    assert pieces.of(end) == b"<|im_end|>" and pieces.of(10**6) == b""


def test_sentencepiece() -> None:
    vocab = {"▁the": 0, "<0xE4>": 1, "中": 2, "▁": 3, "<0xZZ>": 4}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab, [], byte_fallback=True))
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    found = TokenPieces(tokenizer)
    assert [found.of(i) for i in range(4)] == [b" the", b"\xe4", "中".encode(), b" "]
    assert found.of(4) == b"<0xZZ>"
