"""Reference for 203 `lpm_order`: the engine's own function."""

from minisgl.scheduler.prefill import lpm_order as lpm_order
