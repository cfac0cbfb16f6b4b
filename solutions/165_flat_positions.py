"""Reference for 165 `flat_positions`: the engine's own function."""

from minisgl.core import flat_positions as flat_positions
