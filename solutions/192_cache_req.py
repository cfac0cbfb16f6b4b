"""Reference for 192 `cache_req`: the engine's own method."""

from minisgl.scheduler.cache import CacheManager

cache_req = CacheManager.cache_req
