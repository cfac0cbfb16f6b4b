"""Reference for 184 `filter_probs`: the engine's own function."""

from minisgl.engine.sample import filter_probs as filter_probs
