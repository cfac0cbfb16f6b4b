"""Reference for 197 `evict`: the engine's own method."""

from minisgl.kvcache.radix_cache import RadixPrefixCache

evict = RadixPrefixCache.evict
