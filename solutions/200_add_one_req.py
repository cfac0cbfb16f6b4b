"""Reference for 200 `_add_one_req`: the engine's own method."""

from minisgl.scheduler.prefill import PrefillAdder

_add_one_req = PrefillAdder._add_one_req
