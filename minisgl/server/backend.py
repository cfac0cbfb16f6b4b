"""The scheduler as a process of the server."""

from __future__ import annotations

import time
from typing import Any

from ..core import Batch, ChunkedReq
from ..message import AbortBackendMsg, BaseBackendMsg, BaseFrontendMsg, DetokenizeMsg, StatsReply
from ..scheduler import ForwardInput, Scheduler, SchedulerConfig
from ..utils.mp import ZmqPushQueue

_STATS_SECONDS = 0.2  # how old the API server's knowledge of a busy scheduler may be


class ServerScheduler(Scheduler):
    """Tells the API server how it stands, and the detokenizer which requests were aborted."""

    def __init__(
        self, config: SchedulerConfig, send_into_frontend: ZmqPushQueue[BaseFrontendMsg], **queues: Any
    ) -> None:
        super().__init__(config, **queues)
        self._send_into_frontend = send_into_frontend
        self._prefill_tokens = 0
        self._hit_tokens = 0
        self._partial: set[int] = set()  # uids of prompts that are computed in part: their hit is counted
        self._last_stats: StatsReply | None = None
        self._stats_due = 0.0

    def run_when_idle(self) -> None:
        """Check that nothing is lost, and report it."""
        super().run_when_idle()
        self._partial.clear()
        self._send_stats()

    def _process_one_msg(self, msg: BaseBackendMsg) -> None:
        super()._process_one_msg(msg)
        if isinstance(msg, AbortBackendMsg):
            # Behind the request's last token, in the same queue: nothing about it comes after this.
            self.send_result([DetokenizeMsg(msg.uid, -1, finished=True, finish_reason="abort")])

    def _prepare_batch(self, batch: Batch) -> ForwardInput:
        if batch.is_prefill:
            self._count_prefill(batch)
        if time.monotonic() >= self._stats_due:
            self._send_stats()
        return super()._prepare_batch(batch)

    def _count_prefill(self, batch: Batch) -> None:
        for req in batch.reqs[batch.num_decodes :]:
            self._prefill_tokens += req.extend_len
            if req.uid not in self._partial:
                self._hit_tokens += req.cached_len
            if isinstance(req, ChunkedReq):
                self._partial.add(req.uid)
            else:
                self._partial.discard(req.uid)

    def _send_stats(self) -> None:
        """Tell the API server, unless nothing has changed."""
        self._stats_due = time.monotonic() + _STATS_SECONDS
        cache = self.cache_manager
        stats = StatsReply(
            waiting=len(self.prefill_manager.pending_list),
            running=self.config.max_running_req - self.table_manager.available_size,
            free_pages=len(cache.free_slots),
            cached_pages=cache.prefix_cache.size_info.evictable_size // cache.page_size,
            total_pages=cache.num_pages,
            prefill_tokens=self._prefill_tokens,
            cache_hit_tokens=self._hit_tokens,
        )
        if stats != self._last_stats:
            self._last_stats = stats
            self._send_into_frontend.put(stats)
