"""How a scheduler gets requests and gives tokens back: here, two queues of the same process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence

from ..message import BaseBackendMsg, DetokenizeMsg
from ..utils import trace


class SchedulerIOMixin(ABC):
    """`inbox` holds messages to the scheduler, `outbox` the tokens it has sent."""

    def __init__(self) -> None:
        self.inbox: deque[BaseBackendMsg] = deque()
        self.outbox: deque[DetokenizeMsg] = deque()

    def receive_msg(self, blocking: bool = False) -> list[BaseBackendMsg]:
        """All messages that have arrived. `blocking` says that there is nothing else to do."""
        if blocking and not self.inbox:
            self.run_when_idle()
        msgs = list(self.inbox)
        self.inbox.clear()
        return msgs

    def send_result(self, reply: Sequence[DetokenizeMsg]) -> None:
        """Send the tokens of one step."""
        for msg in reply:
            trace.emit("sampled", req=msg.uid, token=msg.next_token)
        self.outbox.extend(reply)

    @abstractmethod
    def run_when_idle(self) -> None:
        """Called when there is no work."""
