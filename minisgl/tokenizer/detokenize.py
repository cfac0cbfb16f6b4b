"""From tokens to text while they come: what of the text is final already?

A token may end inside a character, so that its text ends in U+FFFD until the next ones arrive; and a text may
end in what could become a stop string.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..message import DetokenizeMsg
from ..utils.hf import Tokenizer

BROKEN = "\ufffd"  # stands for bytes that are no character, or not yet
_WINDOW = 12  # most tokens that are decoded again and again
_TAIL = 4  # tokens that hold any character that is incomplete: none has more than 4 bytes


@dataclass
class DecodeStatus:
    """The window of a request: its last tokens, and how much of their text has been sent.

    The window begins where the text before it was whole, and with a token that has text, because some
    decoders strip a space from the first token. In a long run of broken bytes it begins anywhere.
    """

    ids: list[int] = field(default_factory=list)
    length: int = 0  # characters of their text
    sent: int = 0  # of these, sent; below 0: so many U+FFFD that left the window are not sent yet
    whole: int = 0  # tokens up to where the text was last whole
    start: int = 0  # the same, a token with text earlier: where the window may begin


class DetokenizeManager:
    """Turns each request's tokens into pieces of text that, joined, are the text of all of its tokens."""

    def __init__(self, tokenizer: Tokenizer, eos_token_id: int | None = None) -> None:
        self.tokenizer = tokenizer
        self.eos_token_id = -1 if eos_token_id is None else eos_token_id
        self.decode_map: dict[int, DecodeStatus] = {}  # by uid

    def detokenize(self, msgs: Sequence[DetokenizeMsg]) -> list[str]:
        """What each message adds to the text that was sent of its request; a uid at most once.

        What was sent is always the text of all tokens so far without U+FFFD at its end; once `finished`, with
        it. An EOS that finishes is not decoded. Reads `uid`, `next_token` and `finished` alone.

        n messages decode at most 14 n + 16 tokens, however long the texts are.
        """
        outputs = []
        statuses = [self.decode_map.setdefault(msg.uid, DecodeStatus()) for msg in msgs]
        for msg, status in zip(msgs, statuses, strict=True):
            if not (msg.finished and msg.next_token == self.eos_token_id):
                status.ids.append(msg.next_token)
        texts = self.tokenizer.batch_decode([status.ids for status in statuses])
        for msg, status, text in zip(msgs, statuses, texts, strict=True):
            final = text if msg.finished else text.rstrip(BROKEN)
            first = max(status.sent, 0)
            grows = len(final) > first
            if grows:
                outputs.append(BROKEN * (first - status.sent) + final[first:])
                status.sent = len(final)
            else:
                outputs.append("")
            if msg.finished:
                del self.decode_map[msg.uid]
            else:
                self._move_window(status, text, is_whole=final == text, grows=grows)
        return outputs

    def text_of(self, msgs: Sequence[DetokenizeMsg]) -> list[str]:
        """`detokenize` for messages of the scheduler, which also end with a stop id, or without any token."""
        no_text = ("stop", "abort", "error")
        return self.detokenize(
            [replace(m, next_token=self.eos_token_id) if m.finish_reason in no_text else m for m in msgs]
        )

    def forget(self, uid: int) -> None:
        """A request was aborted, and no last message will come."""
        self.decode_map.pop(uid, None)

    def _move_window(self, status: DecodeStatus, text: str, *, is_whole: bool, grows: bool) -> None:
        """Take a new text of the window into account, and let tokens go that it needs no longer."""
        ids = status.ids
        if text and len(text) == status.length and not self.tokenizer.batch_decode([ids[-1:]])[0]:
            ids.pop()  # a special token: no text, so no context for the next ones either
        elif is_whole and grows:
            status.start, status.whole = status.whole, len(ids)
        status.length = len(text)
        start = status.start if is_whole and len(ids) > _TAIL else 0
        if len(ids) - start > _WINDOW:
            start = len(ids) - _TAIL
        if start == 0:
            return
        status.ids = ids[start:]
        status.start, status.whole = max(status.start - start, 0), max(status.whole - start, 0)
        # What is not sent is at the end of the text, so count from there: at the beginning, a character that
        # the window cuts through may decode to another number of them.
        status.length = len(self.tokenizer.batch_decode([status.ids])[0])
        status.sent += status.length - len(text)


def hold_back(text: str, stops: Sequence[str]) -> tuple[str, str, bool]:
    """Which part of a text may be sent, when it has to end before the first stop string.

    Args:
        text: what was held before, and what is new.
        stops: the stop strings; equal ones count once.

    Returns:
        The text to send; the text to hold, the longest end of `text` that may be the beginning of a stop; and
        whether a stop was found. Then the first is what stands before the earliest one, and nothing is held.

    Raises:
        ValueError: a stop is empty or lies within another. Whether the longer one is ever seen would depend
            on how the text is cut.
    """
    for stop in stops:
        if not stop:
            raise ValueError("a stop string is empty: every text would end at once")
        if any(stop in other for other in stops if other != stop):
            raise ValueError(
                f"the stop string {stop!r} lies within another one, which could never be reached"
            )
    found = [text.find(stop) for stop in stops if stop in text]
    if found:
        return text[: min(found)], "", True
    longest = max((len(stop) for stop in stops), default=1) - 1
    for start in range(max(len(text) - longest, 0), len(text)):
        if any(stop.startswith(text[start:]) for stop in stops):
            return text[:start], text[start:], False
    return text, "", False


class StopWatcher:
    """Watches a text that comes in pieces for stop strings."""

    def __init__(self, stops: Sequence[str]) -> None:
        """`stops` as `hold_back` takes them, and as `SamplingParams.stop` has them."""
        self.stops = stops
        self.held = ""  # may be the beginning of a stop
        self.stopped = False

    def feed(self, text: str, *, finished: bool = False) -> str:
        """What may be sent now that `text` has come. At the end of all text nothing is held back.

        Sets `stopped` when a stop is complete. Whatever comes after that is dropped.
        """
        if self.stopped:
            return ""
        text, self.held, self.stopped = hold_back(self.held + text, self.stops)
        if finished:
            text, self.held = text + self.held, ""
        return text
