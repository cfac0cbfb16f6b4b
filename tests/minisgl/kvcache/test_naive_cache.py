"""The prefix cache that keeps nothing."""

import pytest
import torch

from minisgl.kvcache import create_prefix_cache


def test_it_never_hits_and_never_owns_a_page() -> None:
    cache = create_prefix_cache(device=torch.device("cpu"), type="naive")
    ids = torch.tensor([1, 2, 3], dtype=torch.int32)
    cached_len, handle = cache.insert_prefix(ids, ids)
    cache.lock_handle(handle)
    assert (cached_len, handle.cached_len) == (0, 0)
    matched = cache.match_prefix(ids).cuda_handle
    assert matched.cached_len == 0 and matched.get_matched_indices().tolist() == []
    assert cache.size_info.total_size == 0 and len(cache.cached_locations()) == 0
    assert len(cache.evict(0)) == 0
    with pytest.raises(RuntimeError, match="cannot evict 1"):
        cache.evict(1)
    cache.reset()
    cache.check_integrity()


def test_an_unknown_type_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="naive, radix"):
        create_prefix_cache(device=torch.device("cpu"), type="tree")
