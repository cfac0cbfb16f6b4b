"""Reference for 170 `yarn_factor`: the engine's own function."""

from minisgl.layers.rotary import yarn_cos_sin as yarn_cos_sin
