"""What is answered, byte by byte: events, whole answers, stop strings, log-probabilities."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minisgl.core import SamplingParams
from minisgl.message import TokenLogprob, UserReply
from minisgl.server.api_server import make_response, sse_events
from minisgl.server.formats import make_text_response, text_events
from minisgl.server.job import Choice

texts = st.text(max_size=8) | st.sampled_from(
    ["", "\n", "\r\n\n", "data: [DONE]\n\n", "你好\u2028", '"}', "\x00"]
)
replies = st.lists(texts, min_size=1, max_size=5).flatmap(
    lambda pieces: st.builds(
        lambda tokens, reason: [
            {"text": text, "tokens": count, "finish_reason": reason if i == len(pieces) - 1 else None}
            for i, (text, count) in enumerate(zip(pieces, tokens, strict=True))
        ],
        st.lists(st.integers(0, 3), min_size=len(pieces), max_size=len(pieces)),
        st.sampled_from(["stop", "length"]),
    )
)


def parse(events: list[bytes]) -> list[dict[str, Any]]:
    """What a client reads: the events of a body, which must end with [DONE]."""
    body = b"".join(events).decode()
    assert body.endswith("data: [DONE]\n\n")
    parts = body.split("\n\n")
    assert parts.pop() == "" and parts.pop() == "data: [DONE]"
    assert all(part.startswith("data: ") and "\n" not in part for part in parts)
    return [json.loads(part.removeprefix("data: ")) for part in parts]


@given(replies)
def test_a_chat_streams_a_role_its_texts_and_why_it_ended(given_replies: list[dict[str, Any]]) -> None:
    events = parse(list(sse_events(given_replies, 7, "m", 99)))
    for event in events:
        assert (event["id"], event["object"]) == ("chatcmpl-7", "chat.completion.chunk")
        assert (event["created"], event["model"]) == (99, "m")
        assert len(event["choices"]) == 1 and event["choices"][0].keys() == {
            "index",
            "delta",
            "finish_reason",
        }
    choices = [event["choices"][0] for event in events]
    assert choices[0]["delta"] == {"role": "assistant", "content": ""}
    assert [c["delta"] for c in choices[1:-1]] == [{"content": r["text"]} for r in given_replies if r["text"]]
    assert choices[-1]["delta"] == {} and choices[-1]["finish_reason"] == given_replies[-1]["finish_reason"]
    assert all(choice["finish_reason"] is None for choice in choices[:-1])


@given(replies)
def test_a_chat_without_stream_is_one_object(given_replies: list[dict[str, Any]]) -> None:
    media_type, parts = make_response(False, given_replies, 7, "m", 99, 5, sse_events)
    (body,) = parts
    tokens = sum(reply["tokens"] for reply in given_replies)
    message = {"role": "assistant", "content": "".join(reply["text"] for reply in given_replies)}
    assert media_type == "application/json" and json.loads(body) == {
        "id": "chatcmpl-7",
        "object": "chat.completion",
        "created": 99,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": given_replies[-1]["finish_reason"]}],
        "usage": {"prompt_tokens": 5, "completion_tokens": tokens, "total_tokens": 5 + tokens},
    }
    media_type, parts = make_response(True, given_replies, 7, "m", 99, 5, sse_events)
    assert (media_type, parts) == ("text/event-stream", list(sse_events(given_replies, 7, "m", 99)))


@given(replies)
def test_a_text_says_the_same_streamed_or_not(given_replies: list[dict[str, Any]]) -> None:
    _, (body,) = make_text_response(False, given_replies, 1, "m", 2, 3, text_events)
    (whole,) = json.loads(body)["choices"]
    _, events = make_text_response(True, given_replies, 1, "m", 2, 3, text_events)
    choices = [event["choices"][0] for event in parse(events)]
    assert "".join(choice["text"] for choice in choices) == whole["text"]
    assert choices[-1]["finish_reason"] == whole["finish_reason"]


def test_choices_are_told_apart() -> None:
    mixed = [
        {"text": "a", "tokens": 1, "finish_reason": None, "index": 1},
        {"text": "b", "tokens": 1, "finish_reason": "length", "index": 0},
        {"text": "c", "tokens": 1, "finish_reason": "stop", "index": 1},
    ]
    _, (body,) = make_response(False, mixed, 0, "m", 0, 4, sse_events)
    answer = json.loads(body)
    assert [(c["index"], c["message"]["content"], c["finish_reason"]) for c in answer["choices"]] == [
        (0, "b", "length"),
        (1, "ac", "stop"),
    ]
    assert answer["usage"]["completion_tokens"] == 3
    events = [event["choices"][0] for event in parse(list(sse_events(mixed, 0, "m", 0)))]
    for index, text in ((0, "b"), (1, "ac")):
        mine = [event["delta"] for event in events if event["index"] == index]
        assert mine[0]["role"] == "assistant" and mine[-1] == {}
        assert "".join(delta.get("content", "") for delta in mine) == text


def reply(text: str, *, finished: bool = False, logprob: bool = False) -> UserReply:
    entry = TokenLogprob(text, text.encode(), -1.0) if logprob else None
    return UserReply(0, text, 1, finished, "length" if finished else None, logprob=entry, top_logprobs=[])


def run(
    stops: tuple[str, ...], pieces: list[str], logprobs: bool = False
) -> tuple[list[dict[str, Any]], list[bool]]:
    """Feed pieces until the choice is done. Its replies, and after which the engine had to be stopped."""
    choice = Choice(0, SamplingParams(stop=stops))
    results, aborts = [], []
    for i, piece in enumerate(pieces):
        result, abort = choice.add(reply(piece, finished=i == len(pieces) - 1, logprob=logprobs))
        results.append(result)
        aborts.append(abort)
        if choice.is_done:
            break
    assert choice.is_done
    return results, aborts


def test_a_stop_string_over_several_tokens_is_never_sent() -> None:
    results, aborts = run(("<end>",), ["a<", "en", "d", "x<e", "nd>", "after", "more"])
    assert "".join(result["text"] for result in results) == "a<endx"
    assert results[-1]["finish_reason"] == "stop" and aborts == [False] * 4 + [True]


def test_a_stop_string_in_the_last_token_needs_no_abort() -> None:
    results, aborts = run(("!",), ["a", "b!c"])
    assert "".join(result["text"] for result in results) == "ab"
    assert results[-1]["finish_reason"] == "stop" and not any(aborts)


def test_what_was_held_is_sent_at_the_end() -> None:
    results, _ = run(("<end>",), ["a", "<e", "n"])
    assert [result["text"] for result in results] == ["a", "", "<en"]
    assert results[-1]["finish_reason"] == "length"


def test_logprobs_come_with_their_text_and_not_for_the_stop_string() -> None:
    results, _ = run(("<end>",), ["a", "<", "b", "<e", "nd>"], logprobs=True)
    assert [[entry.token.token for entry in result["logprobs"]] for result in results] == [
        ["a"],
        [],
        ["<", "b"],
        [],
        [],
    ]
    results, _ = run(("<end>",), ["a", "<e"], logprobs=True)
    assert [entry.offset for result in results for entry in result["logprobs"]] == [0, 1]


@pytest.mark.parametrize("chat", [True, False])
def test_the_shape_of_logprobs(chat: bool) -> None:
    choice = Choice(0, SamplingParams(logprobs=1))
    likeliest = TokenLogprob("b", b"b", -0.5)
    msg = UserReply(0, "中", 1, True, "length", None, TokenLogprob("中", "中".encode(), -1.0), [likeliest])
    replies = [choice.add(msg)[0]]
    make, sse = (make_response, sse_events) if chat else (make_text_response, text_events)
    _, (body,) = make(False, replies, 0, "m", 0, 1, sse)
    (whole,) = json.loads(body)["choices"]
    streamed = [event["choices"][0].get("logprobs") for event in parse(list(sse(replies, 0, "m", 0)))]
    assert whole["logprobs"] in streamed
    if chat:
        top = [{"token": "b", "logprob": -0.5, "bytes": [98]}]
        assert whole["logprobs"] == {
            "content": [{"token": "中", "logprob": -1.0, "bytes": [228, 184, 173], "top_logprobs": top}]
        }
    else:
        assert whole["logprobs"] == {
            "tokens": ["中"],
            "token_logprobs": [-1.0],
            "top_logprobs": [{"b": -0.5}],
            "text_offset": [0],
        }
