"""Chapter 4: where the KV of a token lies, and what it means that two rows name one page. The page shows some
of these tests.
"""

from __future__ import annotations

import pytest
import torch

from minisgl.kvcache import MHAKVCache, create_kv_cache
from minisgl.models.tiny import tiny_config
from minisgl.scheduler.table import TableManager

LAYERS, PAGES, PAGE_SIZE, HEADS, DIM = 2, 8, 4, 2, 16


def make_pool() -> MHAKVCache:
    pool = create_kv_cache(
        num_layers=LAYERS,
        num_kv_heads=HEADS,
        head_dim=DIM,
        num_pages=PAGES,
        page_size=PAGE_SIZE,
        dtype=torch.float32,
        device=torch.device("cpu"),
    )
    assert isinstance(pool, MHAKVCache)
    pool.buffer.fill_(-1)
    return pool


def row_of(pages: list[int], length: int) -> torch.Tensor:
    """The locations of positions 0 to length - 1 in these pages: a row of the page table."""
    locations = [pages[i // PAGE_SIZE] * PAGE_SIZE + i % PAGE_SIZE for i in range(length)]
    return torch.tensor(locations, dtype=torch.int32)


def tokens(*values: float) -> torch.Tensor:
    """K or V of one token a value, which stands in every head and dimension: [N, heads, dim]."""
    return torch.tensor(values, dtype=torch.float32).view(-1, 1, 1).expand(-1, HEADS, DIM)


def read(pool: MHAKVCache, row: torch.Tensor, layer: int = 0) -> list[float]:
    """The value of each token whose K the row names."""
    return pool.k_cache(layer).flatten(0, 1)[row][:, 0, 0].tolist()


def test_a_token_is_found_where_its_row_says() -> None:
    pool, row = make_pool(), row_of([2, 5], 7)
    assert row.tolist() == [8, 9, 10, 11, 20, 21, 22]
    pool.store_kv(tokens(*range(7)), tokens(*range(10, 17)), row, 0)
    assert read(pool, row) == [0, 1, 2, 3, 4, 5, 6]
    assert pool.k_cache(0)[2, :, 0, 0].tolist() == [0, 1, 2, 3]  # page 2, slots 0 to 3
    assert pool.v_cache(0)[5, :, 0, 0].tolist() == [14, 15, 16, -1]  # nobody has come to slot 3


def test_a_location_is_the_same_number_in_every_layer() -> None:
    pool, row = make_pool(), row_of([2, 5], 7)
    for layer in range(LAYERS):
        pool.store_kv(tokens(*[float(layer)] * 7), tokens(*[0.0] * 7), row, layer)
    assert [read(pool, row, layer) for layer in range(LAYERS)] == [[0] * 7, [1] * 7]


def test_nothing_else_is_written() -> None:
    pool = make_pool()
    pool.store_kv(tokens(9), tokens(9), torch.tensor([22]), 1)
    assert int((pool.buffer != -1).sum()) == 2 * HEADS * DIM  # K and V of one token in one layer


def test_the_dummy_page_lies_behind_the_last_one() -> None:
    pool = make_pool()
    assert pool.buffer.shape == (2, LAYERS, PAGES + 1, PAGE_SIZE, HEADS, DIM)
    dummy = torch.arange(PAGE_SIZE) + PAGES * PAGE_SIZE
    pool.store_kv(tokens(*[7.0] * 4), tokens(*[7.0] * 4), dummy, 0)
    assert bool((pool.k_cache(0)[:PAGES] == -1).all())


def test_a_token_of_the_small_model_takes_512_bytes() -> None:
    pool, config = make_pool(), tiny_config()
    assert config.kv_elements_per_token * pool.dtype.itemsize == 512
    assert pool.buffer[:, :, :PAGES].nbytes == 512 * PAGES * PAGE_SIZE


def test_a_shared_page_is_read_by_both_and_stored_once() -> None:
    pool, a, b = make_pool(), row_of([7, 1, 3], 10), row_of([7, 1, 5], 9)
    pool.store_kv(tokens(*range(10)), tokens(*range(10)), a, 0)
    pool.store_kv(tokens(80), tokens(80), b[8:], 0)  # B computes its ninth token only
    assert read(pool, a) == list(range(10))
    assert read(pool, b) == [*range(8), 80]
    assert len({*(a // PAGE_SIZE).tolist(), *(b // PAGE_SIZE).tolist()}) == 4  # pages, not 6


def test_a_write_into_a_shared_page_is_read_by_the_other() -> None:
    pool = make_pool()
    a = b = row_of([0, 1], 7)  # six tokens of one prompt; both go on at position 6
    pool.store_kv(tokens(*range(6)), tokens(*range(6)), a[:6], 0)
    pool.store_kv(tokens(100), tokens(100), a[6:], 0)
    pool.store_kv(tokens(200), tokens(200), b[6:], 0)
    assert read(pool, a)[6] == 200  # A reads the token of B


def test_copied_first_each_reads_its_own() -> None:
    pool = make_pool()
    a = b = row_of([0, 1], 7)
    pool.store_kv(tokens(*range(6)), tokens(*range(6)), a[:6], 0)
    b = row_of([0, 3], 7)  # B takes page 3 instead of page 1 ...
    for layer in range(LAYERS):  # ... and what page 1 held of it, in every layer
        pool.k_cache(layer)[3, :2] = pool.k_cache(layer)[1, :2]
        pool.v_cache(layer)[3, :2] = pool.v_cache(layer)[1, :2]
    pool.store_kv(tokens(100), tokens(100), a[6:], 0)
    pool.store_kv(tokens(200), tokens(200), b[6:], 0)
    assert read(pool, a) == [0, 1, 2, 3, 4, 5, 100]
    assert read(pool, b) == [0, 1, 2, 3, 4, 5, 200]


def test_rows_are_handed_out_once_and_come_back_once() -> None:
    table = TableManager(2, torch.zeros(3, 16, dtype=torch.int32))
    assert [table.allocate(), table.allocate(), table.available_size] == [0, 1, 0]
    with pytest.raises(RuntimeError, match="all 2 rows"):
        table.allocate()  # row 2 is the dummy's
    table.free(1)
    with pytest.raises(RuntimeError, match=r"row 1 .* freed twice"):
        table.free(1)
    assert table.allocate() == 1


def test_the_token_pool_has_a_place_for_every_entry_of_the_page_table() -> None:
    table = TableManager(2, torch.zeros(3, 16, dtype=torch.int32))
    assert table.token_pool.shape == table.page_table.shape
    assert table.token_pool.dtype == torch.int32
