"""Reference for 202 `retract_to_fit`: the engine's own function."""

from minisgl.scheduler.decode import retract_to_fit as retract_to_fit
