"""What one HTTP request has asked for, and what has come of it so far."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..core import SamplingParams
from ..message import TokenLogprob, UserReply
from ..tokenizer.detokenize import StopWatcher
from .errors import ApiError
from .protocol import Prompt

# A piece of one choice's text: {"text": str, "tokens": int, "finish_reason": str | None, "index": int} and,
# where they are wanted, "logprobs": list of `TokenEntry`.
Reply: TypeAlias = dict[str, Any]


@dataclass
class TokenEntry:
    """One token of an answer that reports how likely its tokens were."""

    token: TokenLogprob
    top: list[TokenLogprob]
    offset: int  # characters of the choice's text before it


class Choice:
    """One text that is being generated: it ends before the first stop string, which no client gets to see."""

    def __init__(self, index: int, params: SamplingParams) -> None:
        self.index = index
        self.is_done = False
        self.tokens = 0
        self.first_time = self.last_time = 0.0  # of its tokens, on the monotonic clock
        self._watcher = StopWatcher(params.stop)
        self._seen = 0  # characters of text so far
        self._sent = 0  # of these, not held back
        self._entries: list[TokenEntry] = []  # of tokens whose text is held back

    def add(self, msg: UserReply) -> tuple[Reply, bool]:
        """Take in what a token has added.

        Returns:
            the reply for the client, and whether a stop string ended the text before the engine did.
        """
        if msg.tokens:
            self.last_time = time.monotonic()
            self.first_time = self.first_time or self.last_time
            self.tokens += msg.tokens
        if msg.logprob is not None:
            self._entries.append(TokenEntry(msg.logprob, msg.top_logprobs or [], self._seen))
        text = self._watcher.feed(msg.incremental_output, finished=msg.finished)
        stopped = self._watcher.stopped
        self._seen += len(msg.incremental_output)
        self._sent += len(text)
        self.is_done = stopped or msg.finished
        reason = "stop" if stopped else msg.finish_reason
        reply: Reply = {"text": text, "tokens": msg.tokens, "finish_reason": reason, "index": self.index}
        if msg.logprob is not None or self._entries:
            reply["logprobs"] = self._take_entries(all_of_them=msg.finished and not stopped)
        return reply, stopped and not msg.finished

    def _take_entries(self, *, all_of_them: bool) -> list[TokenEntry]:
        """Those of tokens whose text is sent. One whose text is held waits with it, and is not reported
        at all if that turns out to be the stop string.
        """
        ready = len(self._entries) if all_of_them else 0
        while ready < len(self._entries) and self._entries[ready].offset < self._sent:
            ready += 1
        taken, self._entries = self._entries[:ready], self._entries[ready:]
        return taken


class Job:
    """All choices of one HTTP request: `n` for each prompt. Its uids are `uid`, `uid + 1`, ...

    Replies that the client has not taken yet are merged, a choice into one, so that a slow client costs the
    memory of its text and no more.
    """

    def __init__(self, uid: int, prompts: Sequence[Prompt], params: SamplingParams) -> None:
        self.uid = uid
        self.params = params
        self.choices = [Choice(index, params) for index in range(len(prompts) * params.n)]
        self.prompt_tokens = 0
        self.prompt_param = (
            "messages" if isinstance(prompts[0], list) and isinstance(prompts[0][0], dict) else "prompt"
        )
        self.error: ApiError | None = None
        self.created = time.monotonic()
        self._untokenized = len(prompts)
        self._pending: dict[int, Reply] = {}
        self._changed = asyncio.Event()

    @property
    def is_done(self) -> bool:
        """Whether nothing more will come from the engine."""
        return self.error is not None or all(choice.is_done for choice in self.choices)

    @property
    def is_drained(self) -> bool:
        """Whether the client has taken all that there ever will be."""
        return self.error is None and self.is_done and not self._pending

    def tokenized(self, prompt_tokens: int) -> None:
        """One more prompt has been turned into so many tokens."""
        self.prompt_tokens += prompt_tokens
        self._untokenized -= 1
        self._changed.set()

    def add(self, reply: Reply) -> None:
        """Keep a reply until the client takes it."""
        pending = self._pending.setdefault(reply["index"], reply)
        if pending is not reply:
            pending["text"] += reply["text"]
            pending["tokens"] += reply["tokens"]
            pending["finish_reason"] = reply["finish_reason"]
            if "logprobs" in reply:
                pending.setdefault("logprobs", []).extend(reply["logprobs"])
        self._changed.set()

    def fail(self, error: ApiError) -> None:
        """The first error ends the job."""
        if not self.is_done:
            self.error = error
        self._changed.set()

    async def take(self) -> list[Reply]:
        """The replies since the last call, waited for; all prompts have been tokenized then.

        Raises:
            ApiError: the job has failed.
        """
        while self.error is None and (self._untokenized or not self._pending):
            self._changed.clear()
            await self._changed.wait()
        if self.error is not None:
            raise self.error
        replies = list(self._pending.values())
        self._pending.clear()
        return replies
