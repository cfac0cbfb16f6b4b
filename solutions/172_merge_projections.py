"""Reference for 172 `merge_projections`: the engine's own function."""

from minisgl.models.weight import merge_projections as merge_projections
