"""Reference for 205 `overlap_finish`: the engine's own method."""

from minisgl.scheduler.scheduler import Scheduler

_process_last_data = Scheduler._process_last_data
