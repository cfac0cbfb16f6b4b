"""Reference for 189 `decode_order`: the engine's own method."""

from minisgl.scheduler.decode import DecodeManager

schedule_next_batch = DecodeManager.schedule_next_batch
