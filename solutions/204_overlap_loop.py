"""Reference for 204 `overlap_loop`: the engine's own method."""

from minisgl.scheduler.scheduler import Scheduler

overlap_loop = Scheduler.overlap_loop
