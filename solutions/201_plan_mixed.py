"""Reference for 201 `plan_mixed`: the engine's own function."""

from minisgl.scheduler.scheduler import plan_mixed as plan_mixed
