"""Ranks get the same messages in the same step: order, counts, and a subscriber that comes late."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from minisgl.core import SamplingParams
from minisgl.message import AbortBackendMsg, BaseBackendMsg, BatchTokenizerMsg, DetokenizeMsg, UserMsg
from minisgl.scheduler.io import InboxQueue, SchedulerIOMixin, wait_for_subscribers
from minisgl.utils.mp import ZmqPubQueue, ZmqPullQueue, ZmqPushQueue, ZmqSubQueue


class Rank(SchedulerIOMixin):
    """A scheduler that only receives and sends."""

    def __init__(self, **queues: object) -> None:
        super().__init__(**queues)  # type: ignore[arg-type]
        self.idle = 0

    def run_when_idle(self) -> None:
        self.idle += 1


class Source:
    """Raw messages that arrive in bunches: `empty` ends a bunch."""

    def __init__(self, *raws: bytes) -> None:
        self.raws, self.log = deque(raws), []

    def get_raw(self) -> bytes:
        self.log.append("get_raw")
        return self.raws.popleft()

    def empty(self) -> bool:
        self.log.append("empty")
        return not self.raws

    def decode(self, raw: bytes) -> str:
        return raw.decode()


class Sink:
    def __init__(self, log: list[object]) -> None:
        self.log = log

    def put_raw(self, raw: bytes) -> None:
        self.log.append(raw)


class Counting(Rank):
    def run_when_idle(self) -> None:
        self._send_into_ranks.log.append("idle")

    def _broadcast_count(self, count: int) -> int:
        self._send_into_ranks.log.append(count)
        return count


@pytest.mark.parametrize("count", range(5))
def test_rank_0_says_how_many_and_then_passes_them_on(count: int) -> None:
    log: list[object] = []
    raws = [str(i).encode() for i in range(count)]
    rank = Counting(recv_from_tokenizer=Source(*raws), send_into_ranks=Sink(log))
    assert rank.receive_msg() == [raw.decode() for raw in raws]
    assert log == [count, *raws]


@pytest.mark.parametrize("count", range(1, 5))
def test_the_first_of_an_idle_rank_goes_ahead_of_the_count(count: int) -> None:
    log: list[object] = []
    raws = [str(i).encode() for i in range(count)]
    rank = Counting(recv_from_tokenizer=Source(*raws), send_into_ranks=Sink(log))
    assert rank.receive_msg(blocking=True) == [raw.decode() for raw in raws]
    assert log == ["idle", raws[0], count - 1, *raws[1:]]


J, L = b"\x01", b"\x00"


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([], 0),
        ([J], 1),
        ([J, J, J], 3),
        ([J, L, J, J], 2),
        ([b"\x01topic", b"hello", b"", J], 1),
        ([L, J, J], 1),
    ],
)
def test_subscribers_are_counted(frames: list[bytes], expected: int) -> None:
    rest = [*frames, b"one too many"]
    wait_for_subscribers(lambda: rest.pop(0), expected)
    assert rest == [b"one too many"]


@given(st.lists(st.sampled_from([J, L, b"\x01x", b"other"]), max_size=20), st.integers(0, 3))
def test_it_returns_at_the_first_frame_that_makes_them_complete(frames: list[bytes], expected: int) -> None:
    balances = [0]
    for frame in frames:
        balances.append(balances[-1] + {J: 1, L: -1}.get(frame, 0))
    rest = list(frames)
    if expected in balances:
        wait_for_subscribers(lambda: rest.pop(0), expected)
        assert len(frames) - len(rest) == balances.index(expected)
    else:
        with pytest.raises(IndexError):
            wait_for_subscribers(lambda: rest.pop(0), expected)


def messages(count: int) -> list[BaseBackendMsg]:
    ids = torch.tensor([1, 2, 3], dtype=torch.int32)
    return [UserMsg(uid, ids, SamplingParams(seed=uid)) for uid in range(count)]


def uids(msgs: list[BaseBackendMsg]) -> list[int]:
    return [msg.uid for msg in msgs]


@pytest.fixture
def published(tmp_path: Path):
    """Rank 0's queue and a function that makes the other rank's."""
    address = f"ipc://{tmp_path}/ranks"
    pub = ZmqPubQueue(address, create=True, encoder=BaseBackendMsg.encoder)
    subs: list[ZmqSubQueue] = []

    def subscribe() -> ZmqSubQueue:
        subs.append(ZmqSubQueue(address, create=False, decoder=BaseBackendMsg.decoder))
        return subs[-1]

    yield pub, subscribe
    for each in (*subs, pub):
        each.stop()


def test_a_late_rank_loses_nothing(published) -> None:
    """Defect 6 of the official engine: what is published before a rank has subscribed is lost."""
    pub, subscribe = published
    waiting, log = threading.Event(), []

    def late() -> None:
        assert waiting.wait(30)  # rank 0 is ready to publish, and this rank has not even subscribed
        rank1 = Rank(recv_from_rank0=subscribe())
        log.extend(uids(rank1.receive_msg(blocking=True)))

    thread = threading.Thread(target=late)
    thread.start()

    def recv() -> bytes:
        waiting.set()
        return pub.get_subscription(timeout=30)

    wait_for_subscribers(recv, 1)
    rank0 = Rank(send_into_ranks=pub)
    rank0.inbox.extend(messages(3))
    assert uids(rank0.receive_msg(blocking=True)) == [0, 1, 2]
    thread.join(30)
    assert log == [0, 1, 2]


def test_two_ranks_and_thousands_of_messages(published) -> None:
    """More than a queue with a limit would hold before it drops some."""
    pub, subscribe = published
    rank1 = Rank(recv_from_rank0=subscribe())
    wait_for_subscribers(lambda: pub.get_subscription(timeout=30), 1)
    rank0 = Rank(send_into_ranks=pub)
    rank0.inbox.extend(messages(5000))
    assert uids(rank0.receive_msg(blocking=True)) == list(range(5000))
    msgs = rank1.receive_msg(blocking=True)
    assert uids(msgs) == list(range(5000)) and msgs[7].sampling_params == SamplingParams(seed=7)
    assert rank0.receive_msg() == rank1.receive_msg() == []
    rank0.inbox.append(AbortBackendMsg(5))
    assert rank0.receive_msg() == rank1.receive_msg() == [AbortBackendMsg(5)]
    assert rank0.idle == rank1.idle == 1


def test_only_rank_0_sends_tokens(published) -> None:
    pub, subscribe = published
    rank0, rank1 = Rank(send_into_ranks=pub), Rank(recv_from_rank0=subscribe())
    for rank in (rank0, rank1):
        rank.send_result([DetokenizeMsg(0, 5, False)])
    assert len(rank0.outbox) == 1 and not rank1.outbox


def test_an_empty_inbox_cannot_be_waited_for() -> None:
    with pytest.raises(RuntimeError, match="inbox is empty"):
        InboxQueue(deque()).get_raw()


def test_one_rank_between_processes(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/backend"
    replies = f"ipc://{tmp_path}/replies"
    push = ZmqPushQueue(address, create=False, encoder=BaseBackendMsg.encoder)
    pull = ZmqPullQueue(address, create=True, decoder=BaseBackendMsg.decoder)
    to_tokenizer = ZmqPushQueue(replies, create=True, encoder=lambda msg: msg.encoder())
    from_scheduler = ZmqPullQueue(replies, create=False, decoder=DetokenizeMsg.decoder)
    try:
        rank = Rank(recv_from_tokenizer=pull, send_into_tokenizer=to_tokenizer)
        for msg in messages(3):
            push.put(msg)
        received = rank.receive_msg(blocking=True)
        while len(received) < 3:
            received += rank.receive_msg(blocking=True)
        assert uids(received) == [0, 1, 2] and rank.receive_msg() == []
        tokens = [DetokenizeMsg(uid, 7, True, "length") for uid in range(3)]
        rank.send_result(tokens[:1])
        rank.send_result(tokens[1:])
        rank.send_result([])
        assert from_scheduler.get() == tokens[0]
        assert from_scheduler.get() == BatchTokenizerMsg(tokens[1:])
        assert from_scheduler.empty()
    finally:
        for each in (push, pull, to_tokenizer, from_scheduler):
            each.stop()
