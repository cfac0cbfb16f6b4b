"""Reference for 181 `paged_attention`: the engine's own function."""

from minisgl.attention.torch_backend import paged_attention as paged_attention
