"""Reference for 207 `abort_in_flight`: the engine's own method."""

from minisgl.scheduler.scheduler import Scheduler

_abort_req = Scheduler._abort_req
