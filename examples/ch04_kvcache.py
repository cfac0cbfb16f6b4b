"""Chapter 4: a request's tokens are next to each other in thought, and scattered in memory.

A pool of 8 pages of 4 tokens; 7 tokens live in pages 2 and 5.

    python examples/ch04_kvcache.py
"""

import torch

from minisgl.kvcache import create_kv_cache
from minisgl.models.tiny import tiny_config
from minisgl.scheduler.table import TableManager

PAGE_SIZE, NUM_PAGES, PAGES, LENGTH = 4, 8, (2, 5), 7


def main() -> None:
    config, device = tiny_config(), torch.device("cpu")
    pool = create_kv_cache(
        num_layers=config.num_layers,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        num_pages=NUM_PAGES,
        page_size=PAGE_SIZE,
        dtype=torch.float32,
        device=device,
    )
    print(config.kv_elements_per_token * pool.dtype.itemsize, "bytes per token")
    print("pool", tuple(pool.buffer.shape), "with the dummy page")

    page_table = torch.zeros(2, 16, dtype=torch.int32)
    table = TableManager(1, page_table)
    row = page_table[table.allocate()]
    for position in range(LENGTH):
        row[position] = PAGES[position // PAGE_SIZE] * PAGE_SIZE + position % PAGE_SIZE
    locations = row[:LENGTH]
    print("row", locations.tolist())

    torch.manual_seed(0)
    equal = True
    for layer in range(config.num_layers):
        k, v = torch.randn(2, LENGTH, config.num_kv_heads, config.head_dim).unbind()
        pool.store_kv(k, v, locations, layer)
        k_slots, v_slots = pool.k_cache(layer).flatten(0, 1), pool.v_cache(layer).flatten(0, 1)
        equal = equal and torch.equal(k_slots[locations], k) and torch.equal(v_slots[locations], v)
    print("read back equal:", equal)


if __name__ == "__main__":
    main()
