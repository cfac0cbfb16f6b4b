"""Chapter 5: hits, chunks and decodes are one case, and the pool is written before it is read. The page shows
some of these tests.
"""

from __future__ import annotations

import pytest
import torch

from minisgl.attention import TorchBackend, paged_attention, seqlen_metadata
from minisgl.core import Batch, Req, SamplingParams
from minisgl.kvcache import BaseKVCachePool, create_kv_cache

HEADS, KV_HEADS, DIM, SCALE = 4, 2, 16, 0.25
ROW = [8, 9, 10, 11, 20, 21, 22]  # pages 2 and 5 of 4 tokens
A, B, C = (0, 6), (4, 7), (8, 9)  # cached_len and device_len of the chapter's three


def int32(values: list[int] | list[list[int]]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def request(row: int, cached_len: int, device_len: int) -> Req:
    ids = torch.zeros(device_len, dtype=torch.int32)
    return Req(ids, row, cached_len, 1, row, SamplingParams(), None)  # type: ignore[arg-type]


def make_backend(rows: list[list[int]], fill: float = 0.0) -> tuple[TorchBackend, BaseKVCachePool]:
    """A pool of two layers and 9 pages, and a page table of these rows, the rest of each out of range."""
    pool = create_kv_cache(
        num_layers=2,
        num_kv_heads=KV_HEADS,
        head_dim=DIM,
        num_pages=9,
        page_size=4,
        dtype=torch.float32,
        device=torch.device("cpu"),
    )
    for layer in range(2):
        pool.k_cache(layer).fill_(fill)
        pool.v_cache(layer).fill_(fill)
    table = int32([row + [10**6] * (12 - len(row)) for row in rows])
    return TorchBackend(pool, table, DIM), pool


def batch_of(backend: TorchBackend, *reqs: Req) -> Batch:
    """The batch that a scheduler would fill in, with its metadata."""
    batch = Batch(list(reqs), "prefill")
    places = [backend.page_table[req.table_idx, req.cached_len : req.device_len] for req in reqs]
    batch.out_loc = torch.cat(places)
    backend.prepare_metadata(batch)
    return batch


def tokens(count: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k and v of so many tokens."""
    random = torch.Generator().manual_seed(seed)
    return (
        torch.randn(count, HEADS, DIM, generator=random),
        torch.randn(count, KV_HEADS, DIM, generator=random),
        torch.randn(count, KV_HEADS, DIM, generator=random),
    )


def textbook(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """One request without a cache, a query and a head at a time."""
    out = torch.zeros_like(q)
    for position in range(len(q)):
        for head in range(HEADS):
            kv_head = head // (HEADS // KV_HEADS)
            scores = k[: position + 1, kv_head] @ q[position, head] * SCALE
            out[position, head] = scores.softmax(dim=0) @ v[: position + 1, kv_head]
    return out


def test_two_chunks_give_what_one_prefill_gives() -> None:
    q, k, v = tokens(7)
    backend, _ = make_backend([ROW])
    whole = backend.forward(q, k, v, 0, batch_of(backend, request(0, 0, 7)))
    backend, _ = make_backend([ROW])
    first = backend.forward(q[:4], k[:4], v[:4], 0, batch_of(backend, request(0, 0, 4)))
    rest = backend.forward(q[4:], k[4:], v[4:], 0, batch_of(backend, request(0, 4, 7)))
    assert torch.allclose(torch.cat((first, rest)), whole, atol=1e-6)
    assert torch.allclose(whole, textbook(q, k, v), atol=1e-6)


def test_seven_decodes_give_what_one_prefill_gives() -> None:
    q, k, v = tokens(7)
    backend, _ = make_backend([ROW])
    out = [
        backend.forward(q[i : i + 1], k[i : i + 1], v[i : i + 1], 1, batch_of(backend, request(0, i, i + 1)))
        for i in range(7)
    ]
    assert torch.allclose(torch.cat(out), textbook(q, k, v), atol=1e-6)


def test_three_queries_of_seven_see_five_six_and_seven_keys() -> None:
    k_cache, v_cache = torch.zeros(2, 36, 1, 8)
    v_cache[ROW, 0] = torch.eye(8)[:7]  # so that the result of a query is its weights
    out = paged_attention(
        torch.zeros(3, 1, 8), k_cache, v_cache, int32([ROW]), int32([0, 3]), int32([7]), 1.0
    )
    assert [(out[r, 0] > 0).sum().item() for r in range(3)] == [5, 6, 7]
    assert out[0, 0, :5].tolist() == pytest.approx([0.2] * 5)


def test_the_batch_of_the_chapter() -> None:
    cu, keys, last = seqlen_metadata([request(row, *lengths) for row, lengths in enumerate((A, B, C))])
    assert (cu.tolist(), keys.tolist(), last.tolist()) == ([0, 6, 9, 10], [6, 7, 9], [5, 8, 9])
    assert (cu.dtype, keys.dtype, last.dtype) == (torch.int32, torch.int32, torch.int64)


def test_a_request_without_queries_is_refused() -> None:
    nobody = request(1, 4, 7)
    nobody.cached_len = 7  # `Req` itself refuses to begin so
    with pytest.raises(ValueError, match="at least one token"):
        seqlen_metadata([request(0, 0, 6), nobody])


def test_a_request_gets_the_same_alone_and_in_company() -> None:
    rows = [[0, 1, 2, 3, 4, 5], ROW, [30, 6, 25, 13, 17, 29, 28, 33, 12]]
    spans = [A, B, C]
    q, k, v = tokens(10)
    bounds = (0, 6, 9, 10)
    backend, pool = make_backend(rows)
    for layer in range(2):  # what is cached already
        cached = tokens(36, seed=layer + 1)
        pool.store_kv(cached[1], cached[2], torch.arange(36), layer)
    reqs = [request(row, *span) for row, span in enumerate(spans)]
    together = backend.forward(q, k, v, 1, batch_of(backend, *reqs))
    for i, req in enumerate(reqs):
        mine = slice(bounds[i], bounds[i + 1])
        alone = backend.forward(q[mine], k[mine], v[mine], 1, batch_of(backend, req))
        assert torch.allclose(together[mine], alone, atol=1e-6)


def test_read_before_stored_is_the_last_owners() -> None:
    k_cache, v_cache = torch.zeros(2, 36, 1, 1)
    v_cache[[8, 9, 10, 11], 0, 0] = torch.tensor([1.0, 2.0, 3.0, 50.0])  # 50 is the last owner's

    def decode() -> float:
        q, table = torch.zeros(1, 1, 1), int32([[8, 9, 10, 11]])
        return paged_attention(q, k_cache, v_cache, table, int32([0, 1]), int32([4]), 1.0).item()

    assert decode() == 14.0  # the mean of 1, 2, 3 and 50
    v_cache[11] = 6.0
    assert decode() == 3.0


def test_the_backend_stores_first() -> None:
    q, k, v = tokens(1)
    backend, _ = make_backend([ROW], fill=50.0)
    out = backend.forward(q, k, v, 0, batch_of(backend, request(0, 0, 1)))
    assert torch.allclose(out, v.repeat_interleave(HEADS // KV_HEADS, dim=1))  # it sees itself alone


def test_one_metadata_serves_every_layer() -> None:
    q, k, v = tokens(7)
    backend, _ = make_backend([ROW])
    batch = batch_of(backend, request(0, 0, 7))
    outs = [backend.forward(q, k, v, layer, batch) for layer in range(2)]
    assert torch.equal(*outs)
    assert batch.attn_metadata.get_last_indices(1).tolist() == [6]


def test_neighbouring_query_heads_share_a_kv_head() -> None:
    v_cache = torch.tensor([[1.0, 2.0]]).view(1, 2, 1)
    out = paged_attention(
        torch.zeros(1, 4, 1), torch.zeros(1, 2, 1), v_cache, int32([[0]]), int32([0, 1]), int32([1]), 1.0
    )
    assert out.flatten().tolist() == [1.0, 1.0, 2.0, 2.0]
