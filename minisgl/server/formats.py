"""The parts of OpenAI's answers that chats and texts share, and the answers for texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from ..message import TokenLogprob
from .job import Reply, TokenEntry

# replies, uid, model, created: the events of a stream
SSE: TypeAlias = Callable[[Iterable[Reply], int, str, int], Iterable[bytes]]
DONE = b"data: [DONE]\n\n"


def event(data: dict[str, Any]) -> bytes:
    """One server-sent event: a line of JSON and the empty line that ends it."""
    return b"data: " + msgspec.json.encode(data) + b"\n\n"


def text_events(replies: Iterable[Reply], uid: int, model: str, created: int) -> Iterator[bytes]:
    """The events of a streamed text, as `sse_events` makes those of a chat."""
    head = {"id": f"cmpl-{uid}", "object": "text_completion", "created": created, "model": model}
    reasons: dict[int, str | None] = {}  # by choice
    for reply in replies:
        index = reply.get("index", 0)
        reasons[index] = reply["finish_reason"]
        if reply["text"] or reply.get("logprobs"):
            choice = {"index": index, "text": reply["text"], "finish_reason": None} | text_logprobs(reply)
            yield event({**head, "choices": [choice]})
    for index, reason in reasons.items():
        yield event({**head, "choices": [{"index": index, "text": "", "finish_reason": reason}]})
    yield DONE


def make_text_response(
    stream: bool, replies: Sequence[Reply], uid: int, model: str, created: int, prompt_tokens: int, sse: SSE
) -> tuple[str, list[bytes]]:
    """A whole text, as `make_response` makes a whole chat completion."""
    if stream:
        return "text/event-stream", list(sse(replies, uid, model, created))
    head = {"id": f"cmpl-{uid}", "object": "text_completion", "created": created, "model": model}
    choices = [
        {"index": index, "text": whole["text"], "finish_reason": whole["finish_reason"]}
        | text_logprobs(whole)
        for index, whole in join_replies(replies).items()
    ]
    usage = count_usage(prompt_tokens, replies)
    return "application/json", [msgspec.json.encode({**head, "choices": choices, "usage": usage})]


def join_replies(replies: Iterable[Reply]) -> dict[int, Reply]:
    """All replies of each choice as one, by the choice's index."""
    joined: dict[int, Reply] = {}
    for reply in replies:
        whole = joined.setdefault(reply.get("index", 0), {"text": ""})
        whole["text"] += reply["text"]
        whole["finish_reason"] = reply["finish_reason"]
        if "logprobs" in reply:
            whole.setdefault("logprobs", []).extend(reply["logprobs"])
    return dict(sorted(joined.items()))


def count_usage(prompt_tokens: int, replies: Iterable[Reply]) -> dict[str, int]:
    """What a request has cost. A reply may hold several tokens, or none."""
    completion_tokens = sum(reply["tokens"] for reply in replies)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def chat_logprobs(reply: Reply) -> dict[str, Any]:
    """A chat's "logprobs", or nothing when they are not wanted."""
    if "logprobs" not in reply:
        return {}
    content = [
        {**_chat_token(entry.token), "top_logprobs": [_chat_token(token) for token in entry.top]}
        for entry in reply["logprobs"]
    ]
    return {"logprobs": {"content": content}}


def text_logprobs(reply: Reply) -> dict[str, Any]:
    """A text's "logprobs", or nothing when they are not wanted."""
    if "logprobs" not in reply:
        return {}
    entries: list[TokenEntry] = reply["logprobs"]
    logprobs = {
        "tokens": [entry.token.token for entry in entries],
        "token_logprobs": [entry.token.logprob for entry in entries],
        "top_logprobs": [{token.token: token.logprob for token in entry.top} for entry in entries],
        "text_offset": [entry.offset for entry in entries],
    }
    return {"logprobs": logprobs}


def _chat_token(token: TokenLogprob) -> dict[str, Any]:
    return {"token": token.token, "logprob": token.logprob, "bytes": list(token.raw)}
