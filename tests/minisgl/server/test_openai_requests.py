"""What clients may ask: every parameter is checked, and an error names the one at fault."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minisgl.server.errors import ApiError
from minisgl.server.protocol import BaseRequest, ChatCompletionRequest, CompletionRequest, parse_request

CHAT = {"messages": [{"role": "user", "content": "Hi"}]}
TEXT = {"prompt": "Hi"}


def parse(data: Any, chat: bool = False) -> BaseRequest:
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    return parse_request(ChatCompletionRequest if chat else CompletionRequest, body)


def refusal(data: Any, chat: bool = False) -> ApiError:
    with pytest.raises(ApiError) as info:
        request = parse(data, chat)
        request.prompts()
        request.sampling_params(2048)
    assert info.value.status == 400
    assert len(info.value.message) < 400
    return info.value


def test_defaults_are_those_of_openai() -> None:
    text, chat = parse(TEXT).sampling_params(2048), parse(CHAT, True).sampling_params(2048)
    assert (text.temperature, text.top_p, text.n, text.max_tokens) == (1.0, 1.0, 1, 16)
    assert (chat.temperature, chat.max_tokens, chat.logprobs) == (1.0, 2048, None)
    assert not parse(TEXT).stream


def test_every_parameter_arrives() -> None:
    given = {
        "temperature": 0.5, "top_p": 0.9, "top_k": 7, "min_p": 0.1, "n": 3, "stop": "x", "seed": -5,
        "max_tokens": 10**12, "presence_penalty": 1, "frequency_penalty": -1.5, "repetition_penalty": 1.1,
        "stop_token_ids": [4], "ignore_eos": True,
    }  # fmt: skip
    params = parse({**TEXT, **given, "logprobs": 2}).sampling_params(100)
    for name, value in given.items():
        assert getattr(params, name) == {"stop": ("x",), "max_tokens": 100, "stop_token_ids": (4,)}.get(
            name, value
        )
    assert params.logprobs == 2
    chat = parse({**CHAT, "logprobs": True, "max_completion_tokens": 9, "max_tokens": 3}, True)
    assert (chat.sampling_params(100).logprobs, chat.sampling_params(100).max_tokens) == (0, 9)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("a", ["a"]),
        (["a", "b"], ["a", "b"]),
        ([1, 2], [[1, 2]]),
        ([[1], [2, 3]], [[1], [2, 3]]),
        (["a", [1]], ["a", [1]]),
    ],
)
def test_prompts(prompt: Any, expected: list[Any]) -> None:
    assert parse({"prompt": prompt}).prompts() == expected


@pytest.mark.parametrize(
    "prompt", [None, "", [], [""], [[]], ["a", ""], [1.5], [True], [["a"]], {}, 5, [None]]
)
def test_what_is_no_prompt(prompt: Any) -> None:
    assert refusal({"prompt": prompt}).param == "prompt"


def test_text_parts_are_joined_and_names_kept() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    (chat,) = parse({"messages": [{"role": "user", "content": parts, "name": "x"}]}, True).prompts()
    assert chat == [{"role": "user", "content": "ab", "name": "x"}]


def test_an_answer_with_all_fields_of_openai_may_be_handed_back() -> None:
    answer = {"role": "assistant", "content": "a"}
    nothing = dict.fromkeys(["refusal", "annotations", "audio", "function_call", "tool_calls", "name"])
    (chat,) = parse({"messages": [answer | nothing]}, True).prompts()
    assert chat == [answer]


def test_the_name_that_was_given_is_the_one_in_the_error() -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        error = refusal({**CHAT, name: 0}, chat=True)
        assert error.param == name and error.message == f"{name} must be an integer of at least 1, not 0"


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        (None, "messages"),
        ([], "messages"),
        ("hi", "messages"),
        (["hi"], "messages.0"),
        ([{"role": "tool", "content": "a"}], "messages.0.role"),
        ([{"content": "a"}], "messages.0.role"),
        ([{"role": ["user"], "content": "a"}], "messages.0.role"),
        ([CHAT["messages"][0], {"role": "user"}], "messages.1.content"),
        ([{"role": "user", "content": None}], "messages.0.content"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}], "messages.0.content"),
        ([{"role": "user", "content": [{"type": "text", "text": 1}]}], "messages.0.content"),
        ([{"role": "user", "content": "a", "tool_calls": []}], "messages.0"),
    ],
)
def test_what_is_no_chat(messages: Any, param: str) -> None:
    assert refusal({"messages": messages}, chat=True).param == param


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("n", 0, "n must be an integer from 1"),
        ("n", 1.5, "n must be a valid integer"),
        ("n", "1", "n must be a valid integer"),
        ("n", True, "n must be a valid integer"),
        ("max_tokens", 0, "max_tokens must be an integer of at least 1, not 0"),
        ("max_tokens", -1, "max_tokens must be an integer of at least 1, not -1"),
        ("temperature", -1, "temperature must be a finite number"),
        ("temperature", "0", "temperature must be a valid number"),
        ("top_p", 0, "top_p must be a number above 0"),
        ("top_k", 0, "top_k must be"),
        ("stop", [""], "stop must be texts"),
        ("stop", [1], "stop must be texts of 1 to"),
        ("stop", 7, "stop must be a list of at most"),
        ("stop", {"a": "b"}, "stop must be a list"),
        ("stop", ["a"] * 65, "stop must be a list of at most"),
        ("seed", 2**63, "seed must be less than"),
        ("seed", 1.0, "seed must be a valid integer"),
        ("stop_token_ids", [2**63], "stop_token_ids.0 must be less than"),
        ("top_k", 2**63, "top_k must be less than"),
        ("stream", 1, "stream must be a valid boolean"),
        ("model", 5, "model must be a valid string"),
        ("stream_options", {"include_usage": True}, "stream_options needs stream"),
        ("stream_options", {"usage": True}, "unknown parameter"),
        ("temprature", 1, "unknown parameter: 'temprature'"),
        ("messages", [], "unknown parameter: 'messages'"),
        ("__class__", 1, "unknown parameter: '__class__'"),
        ("logit_bias", {"5": 1}, "logit_bias is not supported"),
        ("suffix", "end", "suffix is not supported"),
        ("echo", True, "echo is not supported"),
        ("best_of", 2, "best_of is not supported"),
        ("logprobs", 21, "logprobs must be"),
        ("logprobs", True, "logprobs must be a valid integer"),
    ],
)
def test_a_wrong_value_is_named(field: str, value: Any, words: str) -> None:
    error = refusal({**TEXT, field: value})
    assert words in error.message
    assert error.param is not None and error.param.split(".")[0] == field


@pytest.mark.parametrize(
    ("field", "value"),
    [("tools", [{"type": "function"}]), ("response_format", {"type": "json_object"}), ("audio", {})],
)
def test_what_this_server_cannot_do(field: str, value: Any) -> None:
    error = refusal({**CHAT, field: value}, chat=True)
    assert (error.param, error.code) == (field, "unsupported_parameter")


def test_top_logprobs_need_logprobs() -> None:
    assert refusal({**CHAT, "top_logprobs": 2}, chat=True).param == "top_logprobs"
    assert refusal({**CHAT, "logprobs": True, "top_logprobs": 21}, chat=True).param == "top_logprobs"


def test_nulls_and_neutral_values_are_nothing() -> None:
    parse({**CHAT, "stop": None, "tools": [], "logit_bias": None, "user": "me", "metadata": {"a": 1},
           "response_format": {"type": "text"}, "n": None, "seed": None}, True)  # fmt: skip
    parse({**TEXT, "echo": False, "best_of": 1, "suffix": None})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"prompt"',
        b'{"prompt": "\xff"}',
        b'{"prompt": "\\ud83d"}',
        b'{"prompt": "a", "stop": ["\\udc00"]}',
        b'{"prompt": "a", "temperature": NaN}',
        b'{"prompt": "a", "temperature": Infinity}',
        b'{"prompt": "a", "temperature": 1e999}',
        b"[" * 100_000,
        b'{"prompt":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    ],
)
def test_a_body_that_is_no_request(body: bytes) -> None:
    refusal(body)
