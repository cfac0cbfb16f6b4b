"""Reference for 164 `req_lengths`: the engine's own class."""

from minisgl.core import Req as Req
