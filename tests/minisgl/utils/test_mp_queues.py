"""Queues deliver every message, in order, to one receiver or to all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minisgl.utils.mp import (
    ZmqAsyncPullQueue,
    ZmqPubQueue,
    ZmqPullQueue,
    ZmqPushQueue,
    ZmqSubQueue,
)


def same(value: Any) -> Any:
    return value


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    yield f"ipc://{tmp_path}/q"


@pytest.mark.parametrize("push_creates", [True, False])
def test_pushed_before_the_other_end_is_there(address: str, push_creates: bool) -> None:
    if push_creates:
        pull: ZmqPullQueue[Any] = ZmqPullQueue(address, False, same)
        push: ZmqPushQueue[Any] = ZmqPushQueue(address, True, same)
    else:
        push = ZmqPushQueue(address, False, same)
        push.put({"n": 0})
        pull = ZmqPullQueue(address, True, same)
    sent = [{"n": 0}] if not push_creates else []
    for n in range(1, 2000):
        push.put({"n": n})
        sent.append({"n": n})
    assert [pull.get() for _ in sent] == sent
    assert pull.empty()
    push.stop()
    pull.stop()


def test_a_queue_that_stops_has_delivered(address: str) -> None:
    push: ZmqPushQueue[Any] = ZmqPushQueue(address, False, same)
    pull: ZmqPullQueue[Any] = ZmqPullQueue(address, True, same)
    push.put([b"x" * 1_000_000, "中"])
    thread = threading.Thread(target=push.stop)
    thread.start()
    assert pull.get() == [b"x" * 1_000_000, "中"]
    thread.join()
    pull.stop()


def test_raw_bytes_can_be_forwarded_and_decoded(address: str) -> None:
    push: ZmqPushQueue[Any] = ZmqPushQueue(address, True, same)
    pull: ZmqPullQueue[Any] = ZmqPullQueue(address, False, same)
    push.put([1, 2])
    raw = pull.get_raw()
    push.put_raw(raw)
    assert pull.get_raw() == raw and pull.decode(raw) == [1, 2]
    push.put_raw(b"\xc1")
    with pytest.raises(ValueError, match="cannot be read"):
        pull.get()
    push.stop()
    pull.stop()


def test_all_subscribers_get_all_that_is_published_after_they_joined(address: str) -> None:
    pub: ZmqPubQueue[Any] = ZmqPubQueue(address, True, same)
    subs: list[ZmqSubQueue[Any]] = [ZmqSubQueue(address, False, same) for _ in range(3)]
    assert [pub.get_subscription(timeout=10) for _ in subs] == [b"\x01"] * 3
    for n in range(3000):  # more than a socket holds by default, when it would drop
        pub.put(n)
    for sub in subs:
        assert [sub.get() for _ in range(3000)] == list(range(3000))
    subs.pop().stop()
    assert pub.get_subscription(timeout=10) == b"\x00"
    with pytest.raises(TimeoutError):
        pub.get_subscription(timeout=0.01)
    for sub in subs:
        sub.stop()
    pub.stop()


def test_an_address_in_use_is_named(address: str) -> None:
    with pytest.raises(OSError, match=r"cannot create the queue tcp://nowhere"):
        ZmqPullQueue("tcp://nowhere", True, same)


def test_an_event_loop_can_wait_for_messages(address: str) -> None:
    def send() -> None:
        push: ZmqPushQueue[int] = ZmqPushQueue(address, False, same)
        for n in range(100):
            push.put(n)
        push.stop()

    async def receive() -> list[Any]:
        pull: ZmqAsyncPullQueue[Any] = ZmqAsyncPullQueue(address, True, same)
        thread = threading.Thread(target=send)
        thread.start()
        got = [await pull.get() for _ in range(100)]
        thread.join()
        pull.stop()
        return got

    assert asyncio.run(receive()) == list(range(100))
