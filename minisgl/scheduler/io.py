"""How a scheduler gets requests and gives tokens back, in one process, between processes, and as a rank."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ..message import BaseBackendMsg, BaseTokenizerMsg, BatchTokenizerMsg, DetokenizeMsg
from ..utils import trace

if TYPE_CHECKING:
    from ..utils.mp import ZmqPubQueue, ZmqPushQueue, ZmqSubQueue


_COUNT_BYTES = 4


class MsgSource(Protocol):
    """Where messages to the scheduler come from; a `ZmqPullQueue` is one."""

    def get_raw(self) -> bytes:
        """The next message as bytes, waited for."""

    def empty(self) -> bool:
        """Whether there is none now."""

    def decode(self, raw: bytes) -> BaseBackendMsg:
        """The message in these bytes."""


class InboxQueue:
    """The messages of a deque, as bytes that can be passed on to other ranks."""

    def __init__(self, inbox: deque[BaseBackendMsg]) -> None:
        self._inbox = inbox

    def get_raw(self) -> bytes:
        """The next message. RuntimeError when there is none: nobody could send one meanwhile."""
        from ..utils.mp import pack

        if not self._inbox:
            raise RuntimeError("the scheduler waits for a message, but its inbox is empty")
        return pack(self._inbox.popleft().encoder())

    def empty(self) -> bool:
        return not self._inbox

    def decode(self, raw: bytes) -> BaseBackendMsg:
        from ..utils.mp import unpack

        return BaseBackendMsg.decoder(unpack(raw))


def wait_for_subscribers(recv: Callable[[], bytes], expected: int) -> None:
    """Return as soon as so many subscribers are there: what is published before one has come, it never gets.

    Args:
        recv: waits for the publisher's next frame: b"\\x01" joins, b"\\x00" leaves, others do not count.
    """
    present = 0
    while present != expected:
        frame = recv()
        if frame == b"\x01":
            present += 1
        elif frame == b"\x00":
            present -= 1


class SchedulerIOMixin(ABC):
    """Messages in, tokens out.

    Without a queue they lie in `inbox` and `outbox`, of the same process. Of several ranks, rank 0 alone
    talks to others and passes on every message that it gets; each rank then schedules by itself. So all must
    see the same messages in the same step: rank 0 says in every step how many there are.

    Args:
        recv_from_tokenizer: instead of the inbox.
        send_into_tokenizer: instead of the outbox.
        send_into_ranks: of rank 0, if there are others.
        recv_from_rank0: of another rank; it sends nothing to anybody.
    """

    def __init__(
        self,
        *,
        recv_from_tokenizer: MsgSource | None = None,
        send_into_tokenizer: ZmqPushQueue[BaseTokenizerMsg] | None = None,
        send_into_ranks: ZmqPubQueue[BaseBackendMsg] | None = None,
        recv_from_rank0: ZmqSubQueue[BaseBackendMsg] | None = None,
    ) -> None:
        self.inbox: deque[BaseBackendMsg] = deque()
        self.outbox: deque[DetokenizeMsg] = deque()
        self._recv_from_tokenizer = recv_from_tokenizer
        if send_into_ranks is not None and recv_from_tokenizer is None:
            self._recv_from_tokenizer = InboxQueue(self.inbox)
        self._send_into_tokenizer = send_into_tokenizer
        self._send_into_ranks = send_into_ranks
        self._recv_from_rank0 = recv_from_rank0

    def receive_msg(self, blocking: bool = False) -> list[BaseBackendMsg]:
        """All messages that have arrived. `blocking` says that there is nothing else to do."""
        if self._send_into_ranks is not None:
            return self._recv_msg_multi_rank0(blocking)
        if self._recv_from_rank0 is not None:
            return self._recv_msg_multi_rank1(blocking)
        if self._recv_from_tokenizer is not None:
            return self._recv_msg_single_rank(blocking)
        if blocking and not self.inbox:
            self.run_when_idle()
        msgs = list(self.inbox)
        self.inbox.clear()
        return msgs

    def send_result(self, reply: Sequence[DetokenizeMsg]) -> None:
        """Send the tokens of one step. All ranks have the same, so one of them is enough."""
        if self._recv_from_rank0 is not None or not reply:
            return
        if trace.active() is not None:
            for msg in reply:
                if msg.next_token >= 0:
                    trace.emit("sampled", req=msg.uid, token=msg.next_token)
        if self._send_into_tokenizer is None:
            self.outbox.extend(reply)
        else:
            self._send_into_tokenizer.put(reply[0] if len(reply) == 1 else BatchTokenizerMsg(list(reply)))

    @abstractmethod
    def run_when_idle(self) -> None:
        """Called when there is no work."""

    def _recv_msg_single_rank(self, blocking: bool = False) -> list[BaseBackendMsg]:
        q = self._recv_from_tokenizer
        assert q is not None
        msgs: list[BaseBackendMsg] = []
        if blocking and q.empty():
            self.run_when_idle()
            msgs.append(q.decode(q.get_raw()))
        while not q.empty():
            msgs.append(q.decode(q.get_raw()))
        return msgs

    def _recv_msg_multi_rank0(self, blocking: bool = False) -> list[BaseBackendMsg]:
        """Take what has arrived and pass it on.

        A rank without work waits for a message, not for a count, so that rank 0 need not wake it in vain: the
        first message goes ahead of the count, which says how many follow.
        """
        q, ranks = self._recv_from_tokenizer, self._send_into_ranks
        assert q is not None and ranks is not None
        raws: list[bytes] = []
        if blocking:
            self.run_when_idle()
            raws.append(q.get_raw())
            ranks.put_raw(raws[0])
        ahead = len(raws)
        while not q.empty():
            raws.append(q.get_raw())
        self._broadcast_count(len(raws) - ahead)
        for raw in raws[ahead:]:
            ranks.put_raw(raw)
        return [q.decode(raw) for raw in raws]

    def _recv_msg_multi_rank1(self, blocking: bool = False) -> list[BaseBackendMsg]:
        """Take the messages that rank 0 takes in the same step."""
        q = self._recv_from_rank0
        assert q is not None
        raws: list[bytes] = []
        if blocking:
            self.run_when_idle()
            raws.append(q.get_raw())
        raws += [q.get_raw() for _ in range(self._broadcast_count())]
        return [q.decode(raw) for raw in raws]

    def _broadcast_count(self, count: int = 0) -> int:
        """Rank 0's count, on every rank. It travels in the messages' queue: they stay in order, and rank 0
        waits for nobody.
        """
        if self._send_into_ranks is not None:
            self._send_into_ranks.put_raw(count.to_bytes(_COUNT_BYTES, "little"))
            return count
        assert self._recv_from_rank0 is not None
        return int.from_bytes(self._recv_from_rank0.get_raw(), "little")
