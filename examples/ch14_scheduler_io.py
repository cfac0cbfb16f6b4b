"""Chapter 14: two ranks see the same messages, although one of them comes late.

Rank 0 waits until rank 1 has subscribed. What it published before, rank 1 would never see.

    python examples/ch14_scheduler_io.py
"""

import multiprocessing
import tempfile
from multiprocessing.synchronize import Event

import torch

from minisgl.core import SamplingParams
from minisgl.message import BaseBackendMsg, UserMsg
from minisgl.scheduler.io import wait_for_subscribers
from minisgl.utils.mp import ZmqPubQueue, ZmqSubQueue

UIDS = [1, 2, 3]


def rank1(address: str, may_start: Event, seen: "multiprocessing.Queue[list[int]]") -> None:
    """Come late, then receive as many messages as there are."""
    may_start.wait()
    queue = ZmqSubQueue(address, create=False, decoder=BaseBackendMsg.decoder)
    uids = []
    for _ in UIDS:
        msg = queue.get()
        assert isinstance(msg, UserMsg)
        uids.append(msg.uid)
    seen.put(uids)
    queue.stop()


def main() -> None:
    spawn = multiprocessing.get_context("spawn")
    may_start, seen = spawn.Event(), spawn.Queue()
    with tempfile.TemporaryDirectory() as folder:
        address = f"ipc://{folder}/ranks"
        process = spawn.Process(target=rank1, args=(address, may_start, seen))
        process.start()
        queue = ZmqPubQueue(address, create=True, encoder=BaseBackendMsg.encoder)
        may_start.set()  # rank 0 is here already, rank 1 still has to connect
        wait_for_subscribers(queue.get_subscription, 1)
        uids = []
        for uid in UIDS:
            queue.put(UserMsg(uid, torch.tensor([1, 2], dtype=torch.int32), SamplingParams(max_tokens=1)))
            uids.append(uid)
        print("rank 0", uids)
        print("rank 1", seen.get())
        process.join()
        queue.stop()


if __name__ == "__main__":
    main()
