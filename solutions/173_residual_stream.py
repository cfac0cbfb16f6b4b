"""Reference for 173 `residual_stream`: the engine's own method."""

from minisgl.models.decoder import DecoderLayer

forward = DecoderLayer.forward
