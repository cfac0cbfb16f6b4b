"""Qwen3's tokenizer from the vocabulary in the package: the lengths that the course's pages show."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from tools.qwen_tokenizer import build, last_merge, main, ranks


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder: Path = tmp_path_factory.mktemp("qwen")
    main(folder)
    assert (folder / "tokenizer_config.json").is_file()
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def test_the_five_prompts(tokenizer: Tokenizer, five: list[str]):
    ids = [tokenizer.encode(prompt).ids for prompt in five]
    assert [len(one) for one in ids] == [5, 5, 4, 15, 5]
    assert ids[0] == [785, 6722, 315, 9625, 374]


def test_special_tokens_have_qwen3s_ids(tokenizer: Tokenizer):
    assert tokenizer.get_vocab_size() == 151669
    assert tokenizer.token_to_id("<|endoftext|>") == 151643
    assert tokenizer.token_to_id("<|im_end|>") == 151645
    assert tokenizer.token_to_id("<think>") == 151667
    assert tokenizer.encode("<think>\n\n</think>").ids == [151667, 271, 151668]


@pytest.mark.parametrize("text", ["你好，世界。", "I'LL WE'VE 12345 \n\n   x\r\n", "😀 café ½ Привет"])
def test_text_comes_back(tokenizer: Tokenizer, text: str):
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_a_small_vocabulary():
    table = ranks(b"YQ== 0\nYg== 1\nYWI= 2\nYWJh 3\nYWJhYWI= 4\n")
    assert table == {b"a": 0, b"b": 1, b"ab": 2, b"aba": 3, b"abaab": 4}
    assert last_merge(b"abaab", 4, table) == (b"aba", b"ab")
    tokenizer = build(table)
    assert tokenizer.encode("abaab").ids == [4]
    assert tokenizer.encode("abab").ids == [2, 2]


def test_a_token_without_a_last_merge_is_refused():
    with pytest.raises(ValueError, match="token 1"):
        last_merge(b"abc", 1, {b"a": 0})
