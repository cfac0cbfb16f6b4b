"""Incremental text against the text of all tokens at once, for every kind of decoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models

from minisgl.message import DetokenizeMsg
from minisgl.models import resolve_model
from minisgl.tokenizer.detokenize import BROKEN, DetokenizeManager
from minisgl.utils.hf import Tokenizer, load_tokenizer

EOS, SILENT = 256, 257


class Bytes:
    """Tokens 0 to 255 are bytes, those above are special. Counts what it decodes."""

    def __init__(self) -> None:
        self.decoded = 0

    def encode(self, text: str, special_tokens: bool = True) -> list[int]:
        return list(text.encode())

    def decode(self, token_ids: Sequence[int]) -> str:
        return bytes(i for i in token_ids if i < 256).decode(errors="replace")

    def batch_decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        self.decoded += sum(map(len, sequences))
        return [self.decode(ids) for ids in sequences]


class Library:
    """A tokenizer of the library that is not in a file."""

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self.tokenizer = tokenizer

    def encode(self, text: str, special_tokens: bool = True) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=special_tokens).ids

    def decode(self, token_ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(token_ids), skip_special_tokens=True)

    def batch_decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        return [self.decode(ids) for ids in sequences]


@cache
def bundled() -> Tokenizer:
    return load_tokenizer(resolve_model("minisgl-tiny"))


@cache
def qwen() -> Tokenizer:
    from tools.qwen_tokenizer import qwen3

    return Library(qwen3())


@cache
def smollm2() -> Tokenizer:
    try:
        return load_tokenizer(resolve_model("smollm2"))
    except FileNotFoundError:
        pytest.skip("SmolLM2 is not on this machine")


PIECES = ["▁", "▁▁", "▁a", "a", "b", "▁the", "中", "é", ".", "\n"]


def _sentencepiece(decoder: decoders.Decoder) -> Tokenizer:
    """Llama 2's kind: spaces are ▁, what is no piece is bytes. Bytes are 3 to 258."""
    vocab = {token: i for i, token in enumerate(["<unk>", "<s>", "</s>"])}
    vocab |= {f"<0x{byte:02X}>": len(vocab) + byte for byte in range(256)}
    vocab |= {piece: len(vocab) + i for i, piece in enumerate(PIECES)}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab, [], unk_token="<unk>", byte_fallback=True))
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.decoder = decoder
    return Library(tokenizer)


@cache
def byte_fallback() -> Tokenizer:
    return _sentencepiece(
        decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        )
    )


@cache
def metaspace() -> Tokenizer:
    return _sentencepiece(decoders.Metaspace())


@cache
def wordpiece() -> Tokenizer:
    vocab = {token: i for i, token in enumerate(["[UNK]", "[SEP]", "the", "cat", "##s", "##é", "中", "."])}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.add_special_tokens(["[UNK]", "[SEP]"])
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    return Library(tokenizer)


def stream(tokenizer: Tokenizer, ids: Sequence[int], eos: int | None = None) -> list[str]:
    """The outputs of one request's tokens; what was sent is checked at each step."""
    manager = DetokenizeManager(tokenizer, eos)
    outputs: list[str] = []
    for i, token in enumerate(ids):
        finished = i == len(ids) - 1
        outputs += manager.detokenize([DetokenizeMsg(0, token, finished)])
        known = ids[:i] if finished and token == eos else ids[: i + 1]
        text = tokenizer.decode(known)
        assert "".join(outputs) == (text if finished else text.rstrip(BROKEN))
    assert not manager.decode_map
    return outputs


def test_the_chapters_example() -> None:
    outputs = stream(Bytes(), list("a中🙂".encode()))
    assert outputs == ["a", "", "", "中", "", "", "", "🙂"]


BYTES = st.one_of(
    st.integers(0, 255),
    st.sampled_from([*"aé中🙂�".encode(), 0xFF, 0xE4, 0xB8, 0xF0, 0x9F, 0x80, SILENT]),
)
CHUNKS = st.sampled_from(["a", "中", "🙂", "é", "\ufffd", " ", "👨‍👩‍👧", "\n"]).map(
    lambda text: list(text.encode())
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(CHUNKS, st.lists(BYTES, min_size=1, max_size=6)), min_size=1, max_size=30))
def test_any_bytes(parts: list[list[int]]) -> None:
    tokenizer = Bytes()
    ids = [token for part in parts for token in part]
    stream(tokenizer, ids)
    assert tokenizer.decoded <= 14 * len(ids) + 16


@pytest.mark.parametrize(
    "pattern",
    [[0xFF], [0xE4, 0xB8], [0xE4], [0xF0, 0x9F, 0x99], [0x80], [97, 0xE4], [SILENT], [97], [0xFF, SILENT]],
)
@pytest.mark.parametrize("before", [[], [97], [0xE4, 0xB8]])
def test_no_text_makes_decoding_cost_more_than_its_length(pattern: list[int], before: list[int]) -> None:
    tokenizer = Bytes()
    manager = DetokenizeManager(tokenizer)
    ids = before + pattern * (600 // len(pattern))
    outputs: list[str] = []
    for n, token in enumerate(ids, 1):
        outputs += manager.detokenize([DetokenizeMsg(0, token, n == len(ids))])
        assert tokenizer.decoded <= 14 * n + 16
    assert "".join(outputs) == tokenizer.decode(ids)


def test_special_tokens_inside_a_character() -> None:
    first, *rest = "中".encode()
    ids = [97, first, *[SILENT] * 40, *rest, 98]
    assert "".join(stream(Bytes(), ids)) == "a中b"


@pytest.mark.parametrize(
    ("ids", "text"),
    [([EOS], ""), ([97, EOS], "a"), ([0xE4, EOS], BROKEN), ([97, EOS, 98], "ab"), ([EOS, EOS], "")],
)
def test_an_eos_at_the_end_is_no_text(ids: list[int], text: str) -> None:
    assert "".join(stream(Bytes(), ids, EOS)) == text


def test_an_eos_in_the_middle_is_a_token_like_others() -> None:
    assert stream(Bytes(), [97, 98, 98], 98) == ["a", "b", ""]


def test_requests_do_not_mix() -> None:
    texts = {1: "中文 and more", 2: "🙂🙂", 3: "plain", 8: "é"}
    manager, outputs = DetokenizeManager(Bytes(), EOS), dict.fromkeys(texts, "")
    tokens = {uid: [*text.encode(), EOS] for uid, text in texts.items()}
    step = 0
    while tokens:
        # every third step a request is left out, so they are at different places
        uids = [uid for uid in tokens if (uid + step) % 3]
        msgs = [DetokenizeMsg(uid, tokens[uid][0], len(tokens[uid]) == 1) for uid in uids]
        for uid, output in zip(uids, manager.detokenize(msgs), strict=True):
            outputs[uid] += output
        tokens = {uid: ids[1:] if uid in uids else ids for uid, ids in tokens.items()}
        tokens = {uid: ids for uid, ids in tokens.items() if ids}
        assert manager.decode_map.keys() <= tokens.keys()
        step += 1
    assert outputs == texts and not manager.decode_map


def test_nothing_to_do() -> None:
    assert DetokenizeManager(Bytes()).detokenize([]) == []


@pytest.mark.parametrize("reason", ["stop", "error", "abort"])
def test_a_last_message_may_bring_no_text(reason: str) -> None:
    manager = DetokenizeManager(Bytes())
    assert manager.text_of([DetokenizeMsg(4, 97, False), DetokenizeMsg(5, 0xE4, False)]) == ["a", ""]
    token = 98 if reason == "stop" else -1
    assert manager.text_of([DetokenizeMsg(5, token, True, reason), DetokenizeMsg(4, 98, True, "length")]) == [
        BROKEN,
        "b",
    ]
    assert not manager.decode_map


def test_an_aborted_request_is_forgotten() -> None:
    manager = DetokenizeManager(Bytes())
    manager.detokenize([DetokenizeMsg(4, 97, False)])
    manager.forget(4)
    manager.forget(5)
    assert not manager.decode_map


TEXTS = st.lists(
    st.sampled_from(
        ["Hello", " world", "  ", "\n\n", "中文", "🙂", "👍🏽", "é", "�", "def f(x):", " 123", "\t"]
    ),
    min_size=1,
    max_size=12,
).map("".join)


@pytest.mark.parametrize("tokenizer", [bundled, smollm2, pytest.param(qwen, marks=pytest.mark.slow)])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_real_tokenizers(tokenizer: Callable[[], Tokenizer], data: st.DataObject) -> None:
    """Tokens of texts, and tokens in any order, special ones and ones that nobody has among them."""
    own = tokenizer()
    ids = own.encode(data.draw(TEXTS))
    ids += data.draw(st.lists(st.one_of(st.integers(0, 1200), st.sampled_from([0, 1, 2, 151643, 10**6]))))
    if ids:
        stream(own, ids)


def _byte(char: str) -> list[int]:
    return [3 + byte for byte in char.encode()]


@pytest.mark.parametrize("tokenizer", [byte_fallback, metaspace])
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_pieces_with_leading_spaces(tokenizer: Callable[[], Tokenizer], data: st.DataObject) -> None:
    """And, for Llama's decoder, characters that are written as bytes."""
    pieces = st.integers(259, 258 + len(PIECES)).map(lambda token: [token])
    parts = [pieces, st.sampled_from([[1], [2]])]
    if tokenizer is byte_fallback:
        parts.append(st.sampled_from([_byte(char) for char in ("中", "🙂", "é", "x", " ")]))
    drawn = data.draw(st.lists(st.one_of(parts), min_size=1, max_size=30))
    ids = [token for part in drawn for token in part]
    manager, own = DetokenizeManager(tokenizer()), tokenizer()
    msgs = [DetokenizeMsg(0, token, i == len(ids) - 1) for i, token in enumerate(ids)]
    assert "".join(manager.detokenize([msg])[0] for msg in msgs) == own.decode(ids)


def test_characters_written_as_bytes_come_one_by_one() -> None:
    text = "中文字符" * 20
    ids = [token for char in text for token in _byte(char)]
    outputs = stream_without_checks(byte_fallback(), ids)
    assert outputs[2::3] == list(text) and not any(outputs[::3]) and not any(outputs[1::3])


def test_bytes_that_break_what_was_sent_do_not_take_it_back() -> None:
    """Llama's decoder replaces all of a run of bytes when its end is broken. What was sent stays."""
    ids = [*_byte("中"), 3 + 0xE4, 259 + PIECES.index("a")]
    outputs = stream_without_checks(byte_fallback(), ids)
    assert outputs[2] == "中" and "".join(outputs).endswith(BROKEN + "a")


def stream_without_checks(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    manager = DetokenizeManager(tokenizer)
    return [manager.detokenize([DetokenizeMsg(0, t, i == len(ids) - 1)])[0] for i, t in enumerate(ids)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=30))
def test_word_pieces(ids: list[int]) -> None:
    stream(wordpiece(), ids)
