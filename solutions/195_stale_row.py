"""Reference for 195 `stale_row`: the engine's own method."""

from minisgl.scheduler.cache import CacheManager

cache_req = CacheManager.cache_req
