"""The KV pool: shape, addressing, factories."""

from __future__ import annotations

import pytest
import torch

from minisgl.kvcache import MHAKVCache, create_kv_cache, create_prefix_cache


def make_pool() -> MHAKVCache:
    pool = create_kv_cache(
        num_layers=2,
        num_kv_heads=2,
        head_dim=16,
        num_pages=8,
        page_size=4,
        dtype=torch.float32,
        device=torch.device("cpu"),
    )
    assert isinstance(pool, MHAKVCache)
    return pool


def test_shape_and_dummy_page() -> None:
    pool = make_pool()
    assert tuple(pool.buffer.shape) == (2, 2, 9, 4, 2, 16)
    assert (pool.num_layers, pool.dtype, pool.device.type) == (2, torch.float32, "cpu")
    bytes_per_token = pool.buffer.nbytes // (9 * 4)
    assert bytes_per_token == 512


@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64])
def test_read_back_from_pages_2_and_5(index_dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    pool = make_pool()
    pool.buffer.zero_()
    locations = torch.tensor([8, 9, 10, 11, 20, 21, 22], dtype=index_dtype)
    k, v = torch.randn(7, 2, 16), torch.randn(7, 2, 16)
    pool.store_kv(k, v, locations, layer_id=1)
    assert torch.equal(pool.k_cache(1)[[2, 5]].flatten(0, 1)[:7], k)
    assert torch.equal(pool.v_cache(1)[[2, 5]].flatten(0, 1)[:7], v)
    assert pool.buffer.count_nonzero() == 2 * k.numel(), "nothing else is written"


def test_prefix_cache_types() -> None:
    device = torch.device("cpu")
    assert type(create_prefix_cache(device=device, type="naive")).__name__ == "NaivePrefixCache"
    assert type(create_prefix_cache(device=device, type="radix", page_size=4)).__name__ == "RadixPrefixCache"
    with pytest.raises(ValueError, match="naive, radix"):
        create_prefix_cache(device=device, type="tree")
