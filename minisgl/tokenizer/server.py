"""The loops of the processes that turn prompts into tokens and tokens into text, beside the scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..message import (
    AbortBackendMsg,
    AbortMsg,
    BaseBackendMsg,
    BaseFrontendMsg,
    BaseTokenizerMsg,
    BatchFrontendMsg,
    BatchTokenizerMsg,
    DetokenizeMsg,
    DetokenizerStats,
    TokenizedReply,
    TokenizeMsg,
    TokenLogprob,
    UserMsg,
    UserReply,
)
from ..utils.mp import ZmqPullQueue, ZmqPushQueue
from .detokenize import DetokenizeManager
from .pieces import TokenPieces
from .tokenize import TokenizeManager


def receive_waiting(queue: ZmqPullQueue[BaseTokenizerMsg]) -> list[BaseTokenizerMsg]:
    """One message, waited for, and all others that are there by then."""
    msgs: list[BaseTokenizerMsg] = []
    while not msgs or not queue.empty():
        msg = queue.get()
        msgs.extend(msg.data if isinstance(msg, BatchTokenizerMsg) else [msg])
    return msgs


def tokenize_loop(
    manager: TokenizeManager,
    recv: ZmqPullQueue[BaseTokenizerMsg],
    send_into_scheduler: ZmqPushQueue[BaseBackendMsg],
    send_into_frontend: ZmqPushQueue[BaseFrontendMsg],
) -> None:
    """Hand requests and aborts on to the scheduler in their order, for ever.

    The API server hears how long a prompt is, or what is wrong with it.
    """
    while True:
        msgs = receive_waiting(recv)
        gone = {msg.uid for msg in msgs if isinstance(msg, AbortMsg)}
        for msg in msgs:
            if isinstance(msg, AbortMsg):
                send_into_scheduler.put(AbortBackendMsg(msg.uid))
            elif isinstance(msg, TokenizeMsg):
                uids = range(msg.uid, msg.uid + msg.sampling_params.n)
                if gone.issuperset(uids):
                    continue  # nobody waits for the answer any more
                (ids,) = manager.tokenize([msg])
                if isinstance(ids, str):
                    send_into_frontend.put(TokenizedReply(msg.uid, 0, ids))
                    continue
                send_into_frontend.put(TokenizedReply(msg.uid, len(ids)))
                for uid, params in zip(uids, msg.sampling_params.choices(), strict=True):
                    send_into_scheduler.put(UserMsg(uid, ids, params))
            else:
                raise TypeError(f"a tokenizer does not know messages of type {type(msg).__name__}")


def detokenize_loop(
    manager: DetokenizeManager,
    pieces: TokenPieces | None,
    recv: ZmqPullQueue[BaseTokenizerMsg],
    send_into_frontend: ZmqPushQueue[BaseFrontendMsg],
) -> None:
    """Tell the API server what each token adds to its text, for ever."""
    held = 0
    while True:
        for msgs in rounds(receive_waiting(recv)):
            texts = manager.text_of(msgs)
            replies: list[BaseFrontendMsg] = [
                make_reply(msg, text, pieces) for msg, text in zip(msgs, texts, strict=True)
            ]
            if len(manager.decode_map) != held:
                held = len(manager.decode_map)
                replies.append(DetokenizerStats(held))
            send_into_frontend.put(BatchFrontendMsg(replies))


def rounds(msgs: Sequence[BaseTokenizerMsg]) -> Iterator[list[DetokenizeMsg]]:
    """The messages in their order, cut so that no uid is twice in one part."""
    part: dict[int, DetokenizeMsg] = {}
    for msg in msgs:
        if not isinstance(msg, DetokenizeMsg):
            raise TypeError(f"the detokenizer does not know messages of type {type(msg).__name__}")
        if msg.uid in part:
            yield list(part.values())
            part = {}
        part[msg.uid] = msg
    yield list(part.values())


def make_reply(msg: DetokenizeMsg, text: str, pieces: TokenPieces | None) -> UserReply:
    """What the API server is told of one token."""
    is_text = msg.finish_reason not in (
        "stop",
        "abort",
        "error",
    )  # else there is none, or it only ends the text
    reply = UserReply(
        uid=msg.uid,
        incremental_output=text,
        tokens=int(is_text),
        finished=msg.finished,
        finish_reason=msg.finish_reason,
        error=msg.error,
    )
    if is_text and msg.logprob is not None:
        reply.logprob = describe(pieces, msg.next_token, msg.logprob)
        reply.top_logprobs = [describe(pieces, int(token), value) for token, value in msg.top_logprobs or []]
    return reply


def describe(pieces: TokenPieces | None, token_id: int, logprob: float) -> TokenLogprob:
    """A token as clients see it. Without a tokenizer its id is all that there is to say."""
    raw = f"token_id:{token_id}".encode() if pieces is None else pieces.of(token_id)
    return TokenLogprob(raw.decode(errors="replace"), raw, logprob)
