"""The tokenizer in a GGUF file is the one that it was written from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gguf_files import tokenizer_fields, write_gguf
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models import resolve_model
from minisgl.models.tiny import tiny_config, tiny_state_dict
from minisgl.tokenizer.chat import load_chat_template
from minisgl.utils.gguf_tokenizer import UnsupportedTokenizerError, special_tokens, tokenizer_from_gguf
from minisgl.utils.hf import FastTokenizer, load_tokenizer

TEXTS = [
    "hello 12345 you'LL",
    "  你好，世界\r\n\n\tx = 1 ",
    "cafe\u0301 ½ 😀",
    "a<|im_end|>b<|im_start|>",
    "",
]


def bundled_fields() -> dict[str, Any]:
    """The bundled model's tokenizer.json, as the converter of llama.cpp writes it."""
    parsed = json.loads((resolve_model("minisgl-tiny") / "tokenizer.json").read_text())
    vocab = {**parsed["model"]["vocab"], **{t["content"]: t["id"] for t in parsed["added_tokens"]}}
    control = {token["content"] for token in parsed["added_tokens"]}
    tokens = sorted(vocab, key=lambda token: vocab[token])
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in control else 1 for token in tokens],
        "tokenizer.ggml.merges": [" ".join(merge) for merge in parsed["model"]["merges"]],
        "tokenizer.ggml.eos_token_id": vocab["<|im_end|>"],
    }


BUNDLED = load_tokenizer(resolve_model("minisgl-tiny"))
FROM_GGUF = FastTokenizer(tokenizer_from_gguf(bundled_fields()))


@pytest.mark.parametrize("text", TEXTS)
def test_known_texts(text: str) -> None:
    ids = FROM_GGUF.encode(text)
    assert ids == BUNDLED.encode(text)
    assert FROM_GGUF.decode(ids) == BUNDLED.decode(ids)


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_any_text(text: str) -> None:
    assert FROM_GGUF.encode(text) == BUNDLED.encode(text)


def pieces(pre: str, text: str) -> list[str]:
    tokenizer = tokenizer_from_gguf(tokenizer_fields(pre))
    return [text[start:end] for _, (start, end) in tokenizer.pre_tokenizer.pre_tokenize_str(text)]


def test_how_texts_are_cut() -> None:
    text = "I'LL we've 12345\n\n  x!!"
    assert pieces("gpt-2", text) == ["I", "'", "LL", " we", "'ve", " 12345", "\n\n ", " x", "!!"]
    assert pieces("smollm", text)[5:11] == [" ", "1", "2", "3", "4", "5"]
    assert pieces("qwen2", text) == ["I", "'LL", " we", "'ve", " ", *"12345", "\n\n", " ", " x", "!!"]
    assert pieces("llama-bpe", text) == ["I", "'LL", " we", "'ve", " ", "123", "45", "\n\n", " ", " x", "!!"]


def ids(tokens: list[str], **more: Any) -> list[int]:
    fields = {**tokenizer_fields("qwen2"), **more}
    return [fields["tokenizer.ggml.tokens"].index(token) for token in tokens]


def test_tokens_around_a_text() -> None:
    def encoded(pre: str, **more: Any) -> list[int]:
        fields = tokenizer_fields(pre) | {f"tokenizer.ggml.{name}": value for name, value in more.items()}
        tokenizer = FastTokenizer(tokenizer_from_gguf(fields))
        assert tokenizer.encode("he", special_tokens=False) == ids(["he"])
        return tokenizer.encode("he")

    start, end = "<|im_start|>", "<|im_end|>"  # the first and the last token of this vocabulary's texts
    assert encoded("qwen2") == ids(["he"])
    assert encoded("llama-bpe") == ids([start, "he"]), "Llama 3 begins so unless the file says otherwise"
    assert encoded("llama-bpe", add_bos_token=False) == ids(["he"])
    assert encoded("qwen2", add_bos_token=True, add_eos_token=True) == ids([start, "he", end])
    assert encoded("qwen2", add_eos_token=True, eos_token_id=10**6) == ids(["he"])


def test_tokens_of_the_user_are_whole_and_not_special() -> None:
    fields = tokenizer_fields("qwen2")
    fields["tokenizer.ggml.tokens"] += ["<think>", "[unused]"]
    fields["tokenizer.ggml.token_type"] += [4, 5]
    tokenizer = FastTokenizer(tokenizer_from_gguf(fields))
    think = len(fields["tokenizer.ggml.tokens"]) - 2
    assert tokenizer.encode("<think>") == [think]
    assert tokenizer.decode([think, *ids(["he", "<|im_end|>"])]) == "<think>he"
    assert len(tokenizer.encode("[unused]")) == 8


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "llama"}, "the kind 'llama', 'qwen2'; only byte-level BPE"),
        ({"pre": "tekken"}, "'gpt2', 'tekken'; .*one of gpt-2, smollm, llama-bpe, qwen2"),
        ({"pre": 3}, "'gpt2', 3"),
        ({"pre": [1]}, "'gpt2'"),
    ],
)
def test_other_kinds_are_said_to_be_unsupported(changes: dict[str, Any], message: str) -> None:
    fields = tokenizer_fields("qwen2") | {f"tokenizer.ggml.{name}": value for name, value in changes.items()}
    with pytest.raises(UnsupportedTokenizerError, match=message):
        tokenizer_from_gguf(fields)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"merges": ["h x"]}, "do not fit together"),
        ({"merges": ["he"]}, "do not fit together"),
        ({"merges": [1]}, "merges is no list of texts"),
        ({"tokens": "abc"}, "tokens is no list of texts"),
        ({"tokens": ["a", "a"]}, "twice in its vocabulary"),
    ],
)
def test_parts_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    fields = tokenizer_fields("qwen2") | {f"tokenizer.ggml.{name}": value for name, value in changes.items()}
    with pytest.raises(ValueError, match=message):
        tokenizer_from_gguf(fields)


def test_special_tokens_by_name() -> None:
    assert special_tokens(tokenizer_fields("qwen2")) == {
        "bos_token": "<|im_start|>",
        "eos_token": "<|im_end|>",
    }
    assert special_tokens({}) == {}


def write(path: Path, **fields: Any) -> None:
    config = tiny_config("qwen2")
    write_gguf(path, config, tiny_state_dict(config, 0), **{**tokenizer_fields("qwen2"), **fields})


def test_a_file_answers_texts_and_chats(tmp_path: Path) -> None:
    write(tmp_path / "m.gguf")
    llm = LLM(tmp_path / "m.gguf", num_page_override=32, max_running_req=1)
    params = SamplingParams(max_tokens=4, ignore_eos=True)
    from_text, from_ids = (llm.generate([p], params)[0] for p in ("hello", ids(["he", "l", "l", "o"])))
    assert from_text["token_ids"] == from_ids["token_ids"]
    template = load_chat_template(tmp_path / "m.gguf")
    assert template is not None
    assert template.render([{"role": "user", "content": "hi"}]) == "<|im_start|>hi"
    write(tmp_path / "n.gguf", **{"tokenizer.chat_template": None})
    assert load_chat_template(tmp_path / "n.gguf") is None


@pytest.mark.parametrize("fields", [{"tokenizer.ggml.model": "llama"}, {"tokenizer.ggml.model": None}])
def test_without_its_tokenizer_a_file_still_takes_token_ids(fields: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path / "m.gguf", **fields)
    llm = LLM(tmp_path / "m.gguf", num_page_override=32, max_running_req=1)
    result = llm.generate([[1, 2, 3]], SamplingParams(max_tokens=4, ignore_eos=True))[0]
    assert len(result["token_ids"]) == 4 and result["text"] == ""
    with pytest.raises(ValueError, match=r"m\.gguf: its tokenizer is of the kind .* Give token ids"):
        llm.generate(["hello"])


def test_a_damaged_tokenizer_is_named(tmp_path: Path) -> None:
    write(tmp_path / "m.gguf", **{"tokenizer.ggml.merges": ["h x"]})
    with pytest.raises(ValueError, match=r"m\.gguf: its vocabulary and merges do not fit"):
        load_tokenizer(tmp_path / "m.gguf")
