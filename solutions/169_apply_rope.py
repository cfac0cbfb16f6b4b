"""Reference for 169 `apply_rope`: the engine's own function."""

from minisgl.layers.rotary import apply_rope as apply_rope
