"""The tab's readers read what the libraries read."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.torch
import tokenizers
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "minisgl" / "assets" / "minisgl-tiny"
PARTS = (
    "从前有一只猫", "她说：“好！”", "The cache", " don't", "I'LL", "we've", "'ſ", "  ", "\n\n", "\r\n", "\t",
    " \n ", "123", "１２３", "½", "Ⅷ", "😀", "👩‍👩‍👧", "e\u0301", "é", "ﬁ", "\u00a0", "\u3000", "\x00",
    "\x1c", "\u200b", "한글", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_", "user\n", "=>!!", "ĠĊ",
    "\ufffd", "नमस्ते", "ء", "",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PARTS) | st.text(max_size=6), max_size=8).map("".join)


@cache
def library(path: Path = MODEL / "tokenizer.json") -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(path))


@cache
def ours(module: ModuleType, path: Path = MODEL / "tokenizer.json") -> Any:
    return module.Tokenizer.from_file(str(path))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(text=TEXTS)
@example(text="a" * 3000)
@example(text="".join(PARTS))
def test_texts_become_the_same_tokens(tab_tokenizers: ModuleType, text: str) -> None:
    theirs, got = library().encode(text), ours(tab_tokenizers).encode(text)
    assert got.ids == theirs.ids
    assert got.tokens == theirs.tokens
    for skip in (True, False):
        decoded = library().decode(theirs.ids, skip_special_tokens=skip)
        assert ours(tab_tokenizers).decode(got.ids, skip_special_tokens=skip) == decoded


@settings(max_examples=200, deadline=None, derandomize=True)
@given(ids=st.lists(st.integers(0, 6200), max_size=12))
def test_any_tokens_become_the_same_text(tab_tokenizers: ModuleType, ids: list[int]) -> None:
    for skip in (True, False):
        assert ours(tab_tokenizers).decode(ids, skip) == library().decode(ids, skip_special_tokens=skip)


def test_the_vocabulary(tab_tokenizers: ModuleType) -> None:
    mine = ours(tab_tokenizers)
    assert mine.get_vocab_size() == library().get_vocab_size()
    assert mine.get_vocab() == library().get_vocab()
    for i in (0, 100, 6140, 6141, 6143, 6144, 99999):
        assert mine.id_to_token(i) == library().id_to_token(i)
    assert mine.token_to_id("<|im_end|>") == 6143 and mine.token_to_id("nothing at all") is None
    added = mine.get_added_tokens_decoder()
    assert {i: str(token.content) for i, token in added.items()} == {
        i: token.content for i, token in library().get_added_tokens_decoder().items()
    }


def written(tmp_path: Path, **changes: Any) -> Path:
    """The bundled tokenizer with other settings."""
    config = json.loads((MODEL / "tokenizer.json").read_text(encoding="utf-8"))
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(config | changes), encoding="utf-8")
    return path


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
VARIANTS: dict[str, dict[str, Any]] = {
    "gpt-2's pattern": {"pre_tokenizer": BYTE_LEVEL, "normalizer": None},
    "a space in front": {"pre_tokenizer": BYTE_LEVEL | {"add_prefix_space": True}},
    "digits apart": {
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, BYTE_LEVEL],
        }
    },
    "a token in front": {
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<|im_start|>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {
                "<|im_start|>": {"id": "<|im_start|>", "ids": [6142], "tokens": ["<|im_start|>"]}
            },
        }
    },
    "NFKC": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}]}},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_other_tokenizers_of_the_family(tab_tokenizers: ModuleType, name: str, tmp_path: Path) -> None:
    path = written(tmp_path, **VARIANTS[name])
    theirs, mine = tokenizers.Tokenizer.from_file(str(path)), tab_tokenizers.Tokenizer.from_file(str(path))
    for text in (*PARTS, "".join(PARTS), "Version 12.5 costs 340¥", " leading", "trailing "):
        for special in (True, False):
            expected = theirs.encode(text, add_special_tokens=special).ids
            assert mine.encode(text, add_special_tokens=special).ids == expected, text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": {"type": "Unigram", "vocab": []}}, "Unigram"),
        ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}, "'b'"),
        ({"normalizer": {"type": "Lowercase"}}, "Lowercase"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "Whitespace"),
        ({"pre_tokenizer": None}, "byte-level"),
        ({"decoder": {"type": "Metaspace"}}, "Metaspace"),
        ({"model": 7}, "model"),
    ],
)
def test_what_is_not_here_is_named(
    tab_tokenizers: ModuleType, changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=words):
        tab_tokenizers.Tokenizer.from_file(str(written(tmp_path, **changes)))


def test_a_damaged_tokenizer(tab_tokenizers: ModuleType, tmp_path: Path) -> None:
    for text in ("{", "[]", '{"model": {}}', ""):
        path = tmp_path / "tokenizer.json"
        path.write_text(text)
        with pytest.raises(ValueError):
            tab_tokenizers.Tokenizer.from_file(str(path))
    with pytest.raises(TypeError):
        ours(tab_tokenizers).encode(7)


def test_the_bundled_weights(tab_safetensors: ModuleType) -> None:
    path = MODEL / "model.safetensors"
    with (
        safetensors.safe_open(path, framework="pt") as theirs,
        tab_safetensors.safe_open(path, framework="np") as mine,
    ):
        assert set(mine.keys()) == set(theirs.keys())
        assert mine.metadata() == theirs.metadata()
        for name in theirs.keys():  # noqa: SIM118 - no dict
            expected = theirs.get_tensor(name)
            got = mine.get_tensor(name)
            assert got.dtype == np.float32 and expected.dtype == torch.bfloat16
            assert np.array_equal(got, expected.float().numpy())


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int64", "int32", "uint8", "bool", "bfloat16"]
)
def test_every_dtype(tab_safetensors: ModuleType, dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    kind = getattr(torch, dtype)
    tensors = {
        "a": torch.arange(6).view(2, 3).to(kind),
        "empty": torch.zeros(0, 4, dtype=kind),
        "number": torch.tensor(1).to(kind),
    }
    safetensors.torch.save_file(tensors, path, metadata={"format": "pt"})
    with tab_safetensors.safe_open(path, framework="np") as file:
        for name, tensor in tensors.items():
            got = file.get_tensor(name)
            assert got.shape == tuple(tensor.shape)
            assert got.tolist() == tensor.tolist()
        with pytest.raises(tab_safetensors.SafetensorError, match="nobody"):
            file.get_tensor("nobody")


def _good(path: Path) -> bytes:
    safetensors.torch.save_file({"a": torch.arange(6.0), "b": torch.arange(3)}, path)
    return path.read_bytes()


def _header(raw: bytes, change: Any) -> bytes:
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + raw[8 + length :]


DAMAGE = {
    "empty": lambda raw: b"",
    "cut in the header": lambda raw: raw[:40],
    "cut in the data": lambda raw: raw[:-3],
    "too long": lambda raw: raw + b"12",
    "no JSON": lambda raw: raw[:8] + b"x" * (len(raw) - 8),
    "a huge header": lambda raw: (2**60).to_bytes(8, "little") + raw[8:],
    "a hole": lambda raw: _header(raw, lambda h: h.pop("a")),
    "another shape": lambda raw: _header(raw, lambda h: h["a"].update(shape=[7])),
    "a negative shape": lambda raw: _header(raw, lambda h: h["a"].update(shape=[-6])),
    "no dtype": lambda raw: _header(raw, lambda h: h["a"].pop("dtype")),
    "a list": lambda raw: _header(raw, lambda h: h.update(a=[])),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_weights_are_refused_by_both(tab_safetensors: ModuleType, name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(DAMAGE[name](_good(path)))
    with pytest.raises(safetensors.SafetensorError):
        safetensors.safe_open(path, framework="pt")
    with pytest.raises(tab_safetensors.SafetensorError):
        tab_safetensors.safe_open(path, framework="np")


def test_a_file_that_is_not_there(tab_safetensors: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tab_safetensors.safe_open(tmp_path / "nothing", framework="np")
    with pytest.raises(tab_safetensors.SafetensorError, match="jax"):
        tab_safetensors.safe_open(tmp_path / "nothing", framework="jax")
