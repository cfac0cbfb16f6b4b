"""Reference for 193 `_try_allocate_one`: the engine's own method."""

from minisgl.scheduler.prefill import PrefillAdder

_try_allocate_one = PrefillAdder._try_allocate_one
