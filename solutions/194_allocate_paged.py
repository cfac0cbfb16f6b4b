"""Reference for 194 `allocate_paged`: the engine's own method."""

from minisgl.scheduler.cache import CacheManager

allocate_paged = CacheManager.allocate_paged
