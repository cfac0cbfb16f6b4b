"""Reference for 171 `load_state_dict`: the engine's own method."""

from minisgl.layers.base import BaseOP

load_state_dict = BaseOP.load_state_dict
