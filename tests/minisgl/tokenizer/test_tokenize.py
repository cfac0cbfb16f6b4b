"""Prompts of all kinds become token ids, or a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.message import TokenizeMsg
from minisgl.models import resolve_model
from minisgl.tokenizer.chat import load_chat_template
from minisgl.tokenizer.tokenize import TokenizeManager
from minisgl.utils.hf import load_tokenizer


@pytest.fixture(scope="module")
def manager() -> TokenizeManager:
    folder = resolve_model("minisgl-tiny")
    return TokenizeManager(load_tokenizer(folder), load_chat_template(folder), 6144, 2047)


def ask(manager: TokenizeManager, *prompts: Any) -> list[torch.Tensor | str]:
    return manager.tokenize(
        [TokenizeMsg(uid, prompt, SamplingParams()) for uid, prompt in enumerate(prompts)]
    )


def test_a_text_ids_and_a_chat(manager: TokenizeManager) -> None:
    assert manager.tokenizer is not None
    chat = [{"role": "user", "content": "Hi"}]
    text, ids, rendered, longest = ask(manager, "中 a", [5, 6143, 0], chat, [1] * 2047)
    assert isinstance(text, torch.Tensor) and text.dtype == torch.int32
    assert text.tolist() == manager.tokenizer.encode("中 a")
    assert isinstance(ids, torch.Tensor) and ids.tolist() == [5, 6143, 0]
    spelled = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert isinstance(rendered, torch.Tensor) and rendered.tolist() == manager.tokenizer.encode(
        spelled, False
    )
    assert isinstance(longest, torch.Tensor) and longest.dtype == torch.int32 and len(longest) == 2047


def test_what_is_no_prompt_gets_a_sentence_and_the_others_their_ids(manager: TokenizeManager) -> None:
    replies = ask(manager, [1, 6144], [-1], [True], "\ud83d", [{"role": "user"}], [1] * 2048, "", "fine")
    *errors, fine = replies
    for error, words in zip(
        errors,
        [
            "the prompt holds 6144 at position 1, a token id outside of the vocabulary, 0 to 6143",
            "the prompt holds -1",
            "the prompt holds True at position 0, which is no int",
            "the prompt is not valid Unicode",
            "chat template does not take these messages",
            "the prompt has 2048 tokens; this server can compute 2047 at most",
            "the prompt is empty: there is no token to continue",
        ],
        strict=True,
    ):
        assert isinstance(error, str) and words in error
    assert isinstance(fine, torch.Tensor)


def test_a_model_without_tokenizer_or_template() -> None:
    bare = TokenizeManager(None, None, 10, 100)
    text, chat, ids = ask(bare, "a", [{"role": "user", "content": "a"}], [9])
    assert text == "the prompt is a text, but the model has no tokenizer: give token ids"
    assert chat == "the model has no chat template: use /v1/completions"
    assert isinstance(ids, torch.Tensor) and ids.tolist() == [9]


def test_of_a_text_that_is_far_too_long_only_the_beginning_is_encoded() -> None:
    class Counting:
        """One token for every four characters."""

        seen = 0

        def encode(self, text: str, special_tokens: bool = True) -> list[int]:
            self.seen += len(text)
            return [0] * (len(text) // 4)

        def decode(self, token_ids: Sequence[int]) -> str:
            raise NotImplementedError

        def batch_decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
            raise NotImplementedError

    tokenizer = Counting()
    manager = TokenizeManager(tokenizer, None, 10, max_prompt_tokens=1000)
    (error,) = ask(manager, "a" * 10_000_000)
    assert isinstance(error, str) and "more than 1936 tokens; this server can compute 1000" in error
    assert tokenizer.seen == 8000
    for length, fits in ((4003, True), (4004, False), (9000, False)):
        (reply,) = ask(manager, "a" * length)
        assert isinstance(reply, torch.Tensor) == fits
