"""Reference for 199 `match_req`: the engine's own method."""

from minisgl.scheduler.cache import CacheManager

match_req = CacheManager.match_req
