"""Reference for 180 `seqlen_metadata`: the engine's own function."""

from minisgl.attention.utils import seqlen_metadata as seqlen_metadata
