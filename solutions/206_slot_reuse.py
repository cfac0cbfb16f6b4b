"""Reference for 206 `slot_reuse`: the engine's own method."""

from minisgl.scheduler.scheduler import Scheduler

_free_req_resources = Scheduler._free_req_resources
