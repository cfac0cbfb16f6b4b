"""Reference for 186 `plan_num_pages`: the engine's own function."""

from minisgl.engine.engine import plan_num_pages as plan_num_pages
