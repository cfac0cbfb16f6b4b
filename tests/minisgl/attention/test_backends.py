"""Choosing backends, and those of libraries against stand-ins that compute in plain torch on a CPU."""

from __future__ import annotations

import sys
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.attention import HybridBackend, TorchBackend, create_attention_backend, merge_states
from minisgl.attention.fa import find_flash_attention, page_ids
from minisgl.attention.torch_backend import paged_attention
from minisgl.attention.utils import flat_pages
from minisgl.core import SamplingParams
from minisgl.kvcache import create_kv_cache
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

MODEL = (tiny_config(), tiny_state_dict(tiny_config(), 0))
PROMPTS = [prompt(0, 5), prompt(1, 5), prompt(2, 4), prompt(3, 15), prompt(0, 24) + prompt(4, 3)]


def generate(llm: LLM, max_tokens: int = 8) -> list[list[int]]:
    """Twice, so that the second time prefixes are cached."""
    params = SamplingParams(max_tokens=max_tokens, ignore_eos=True)
    return [r["token_ids"] for _ in range(2) for r in llm.generate(PROMPTS, params)]


def make_llm(**options: Any) -> LLM:
    return LLM(MODEL, num_page_override=256, max_running_req=8, **options)


# --- merging ---


def attention_state(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """q [N, H, D] over k, v [M, H, D]: output and log-sum-exp of the scores."""
    scores = torch.einsum("nhd,mhd->nhm", q, k)
    lse = scores.logsumexp(dim=-1)
    if k.shape[0] == 0:
        return torch.zeros_like(q), lse
    return torch.einsum("nhm,mhd->nhd", scores.softmax(dim=-1), v), lse


@settings(max_examples=50, deadline=None)
@given(
    keys=st.integers(0, 9),
    cut=st.integers(0, 9),
    scale=st.sampled_from([0.1, 1.0, 30.0]),
    seed=st.integers(0, 99),
)
def test_halves_give_the_whole(keys: int, cut: int, scale: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(n, 2, 4, generator=generator) for n in (3, keys, keys))
    q *= scale
    cut = min(cut, keys)
    halves = (*attention_state(q, k[:cut], v[:cut]), *attention_state(q, k[cut:], v[cut:]))
    o, lse = merge_states(*halves)
    expected_o, expected_lse = attention_state(q, k, v)
    torch.testing.assert_close(o, expected_o, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(lse, expected_lse, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("lse1", [-400.0, 0.0, 400.0, -torch.inf])
@pytest.mark.parametrize("lse2", [-400.0, 0.0, 400.0, -torch.inf])
def test_far_apart_and_empty(lse1: float, lse2: float) -> None:
    parts = [torch.full((1, 1), lse) for lse in (lse1, lse2)]
    outs = [
        torch.full((1, 1, 2), 0.0 if lse.isinf().all() else value)
        for lse, value in zip(parts, (1.0, 3.0), strict=True)
    ]
    o, lse = merge_states(outs[0], parts[0], outs[1], parts[1])
    weights = torch.softmax(torch.tensor([lse1, lse2]), 0).nan_to_num(0.0)
    expected = weights[0] * outs[0] + weights[1] * outs[1]
    torch.testing.assert_close(o, expected)
    torch.testing.assert_close(lse, torch.logsumexp(torch.tensor([[lse1, lse2]]), dim=1, keepdim=True))


@pytest.mark.parametrize("page_size", [1, 4])
def test_split_keys_change_no_token(page_size: int) -> None:
    expected = generate(make_llm(page_size=page_size))
    llm = make_llm(page_size=page_size)
    assert isinstance(llm.engine.attn_backend, TorchBackend)
    llm.engine.attn_backend.num_splits = 2
    assert generate(llm) == expected


# --- page tables ---


def test_pages_of_the_chapter() -> None:
    table = torch.tensor([[0] * 8, [8, 9, 10, 11, 20, 21, 22, 99]], dtype=torch.int32)
    ids = page_ids(table, torch.tensor([1]), 7, 4)
    assert (ids.tolist(), ids.dtype) == ([[2, 5]], torch.int32)


@given(
    lengths=st.lists(st.integers(1, 20), min_size=1, max_size=4),
    page_size=st.sampled_from([1, 4, 16]),
    seed=st.integers(0, 99),
)
def test_flat_pages(lengths: list[int], page_size: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    pages = torch.randint(1000, (6, 32 // page_size), generator=generator)
    table = (pages[:, :, None] * page_size + torch.arange(page_size)).flatten(1).int()
    rows = torch.randperm(6, generator=generator)[: len(lengths)]
    indptr, flat = flat_pages(table, rows, lengths, page_size)
    counts = [-(-length // page_size) for length in lengths]
    assert indptr.diff().tolist() == counts and flat.dtype == torch.int32
    assert flat.tolist() == [p for row, n in zip(rows, counts, strict=True) for p in pages[row, :n].tolist()]


# --- choosing ---


def test_hybrid_counts_of_the_chapter(monkeypatch: pytest.MonkeyPatch) -> None:
    """One prefill and seven decodes, each to its own backend."""
    llm = make_llm()
    engine, counts = llm.engine, {"prefill": 0, "decode": 0}
    backends = [TorchBackend(engine.kv_cache, engine.page_table, 16) for _ in counts]
    for name, backend in zip(counts, backends, strict=True):

        def prepare(batch: Any, name: str = name, original: Any = backend.prepare_metadata) -> None:
            counts[name] += 1
            original(batch)

        monkeypatch.setattr(backend, "prepare_metadata", prepare)
    engine.attn_backend = engine.ctx.attn_backend = HybridBackend(*backends)
    params = SamplingParams(max_tokens=8, ignore_eos=True)
    expected = make_llm().generate(PROMPTS[:3], params)
    assert llm.generate(PROMPTS[:3], params) == expected
    assert counts == {"prefill": 1, "decode": 7}


@pytest.mark.parametrize("backend", ["auto", "torch", "torch,triton", "triton"])
def test_backends_of_the_cpu(backend: str) -> None:
    assert generate(make_llm(attention_backend=backend)) == generate(make_llm())


@pytest.mark.parametrize("budget", [3, 7, 16])
@pytest.mark.parametrize("overlap", [False, True])
def test_mixed_batches_are_cut_in_two(budget: int, overlap: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running requests go to the decode backend in the steps that compute prompts, too."""
    expected = generate(make_llm())
    settings = {"mixed": True, "max_extend_tokens": budget, "overlap": overlap}
    llm = make_llm(attention_backend="torch,triton", **settings)
    assert isinstance(llm.engine.attn_backend, HybridBackend)
    decode_backend, sizes = llm.engine.attn_backend.decode_backend, []
    attend = decode_backend.attend

    def watched(q: torch.Tensor, layer_id: int, batch: Any) -> torch.Tensor:
        sizes.append(len(q))
        return attend(q, layer_id, batch)

    monkeypatch.setattr(decode_backend, "attend", watched)
    assert generate(llm) == expected
    assert max(sizes) <= budget


def test_long_prompts_make_no_square_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of queries the result is the same."""
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(30, 4, 8, generator=generator)
    k, v = torch.randn(2, 60, 2, 8, generator=generator)
    arguments = (
        q,
        k,
        v,
        torch.randperm(60, generator=generator).int().view(2, 30),
        torch.tensor([0, 19, 30], dtype=torch.int32),
        torch.tensor([25, 30], dtype=torch.int32),
        0.3,
    )
    whole = paged_attention(*arguments)
    monkeypatch.setattr("minisgl.attention.torch_backend._MASK_ENTRIES", 100)
    largest = 0
    attention = torch.nn.functional.scaled_dot_product_attention

    def watched(*args: Any, attn_mask: torch.Tensor, **rest: Any) -> torch.Tensor:
        nonlocal largest
        largest = max(largest, attn_mask.numel())
        return attention(*args, attn_mask=attn_mask, **rest)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", watched)
    torch.testing.assert_close(paged_attention(*arguments), whole)
    assert largest <= 100


# --- FlashAttention, by a stand-in ---


def varlen_attention(q, k, v, cu_q, cu_k, scale):  # type: ignore[no-untyped-def]
    """Causal attention of each request, its last query seeing its last key."""
    out = torch.empty_like(q)
    group = q.shape[1] // k.shape[1]
    for (q0, q1), (k0, k1) in zip(pairwise(cu_q.tolist()), pairwise(cu_k.tolist()), strict=True):
        keys, values = (x[k0:k1].double().repeat_interleave(group, 1) for x in (k, v))
        scores = torch.einsum("nhd,mhd->hnm", q[q0:q1].double(), keys) * scale
        hidden = torch.ones(q1 - q0, k1 - k0, dtype=torch.bool).triu(k1 - k0 - (q1 - q0) + 1)
        probs = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        out[q0:q1] = torch.einsum("hnm,mhd->nhd", probs, values).to(q.dtype)
    return out


def fake_fa3() -> ModuleType:
    def flash_attn_with_kvcache(
        q, k, v, *, cache_seqlens, page_table, cu_seqlens_q, max_seqlen_q, softmax_scale, causal
    ):  # type: ignore[no-untyped-def]
        assert causal and page_table.dtype == cache_seqlens.dtype == cu_seqlens_q.dtype == torch.int32
        assert int(cu_seqlens_q.diff().max()) <= max_seqlen_q
        lengths = cache_seqlens.tolist()
        keys, values = (
            torch.cat([x[row.long()].flatten(0, 1)[:n] for row, n in zip(page_table, lengths, strict=True)])
            for x in (k, v)
        )
        cu_k = torch.cat((torch.zeros(1), cache_seqlens.cumsum(0))).int()
        return varlen_attention(q, keys, values, cu_seqlens_q, cu_k, softmax_scale)

    return SimpleNamespace(flash_attn_with_kvcache=flash_attn_with_kvcache)  # type: ignore[return-value]


def fake_fa2() -> ModuleType:
    def flash_attn_varlen_func(
        q, k, v, *, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale, causal
    ):  # type: ignore[no-untyped-def]
        assert causal and int(cu_seqlens_k.diff().max()) == max_seqlen_k
        assert int(cu_seqlens_q.diff().max()) == max_seqlen_q
        return varlen_attention(q, k, v, cu_seqlens_q, cu_seqlens_k, softmax_scale)

    return SimpleNamespace(flash_attn_varlen_func=flash_attn_varlen_func)  # type: ignore[return-value]


def fake_varlen() -> ModuleType:
    def varlen_attn(q, k, v, cu_q, cu_k, max_q, max_k, *, scale, window_size, enable_gqa):  # type: ignore[no-untyped-def]
        assert enable_gqa and window_size == (-1, 0)
        return varlen_attention(q, k, v, cu_q, cu_k, scale)

    return SimpleNamespace(varlen_attn=varlen_attn)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("module", "fake"),
    [
        ("flash_attn_interface", fake_fa3),
        ("flash_attn", fake_fa2),
        ("torch.nn.attention.varlen", fake_varlen),
    ],
)
@pytest.mark.parametrize("page_size", [1, 4])
def test_flash_attention(module: str, fake: Any, page_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = generate(make_llm(dtype=torch.bfloat16, page_size=page_size))
    monkeypatch.setitem(sys.modules, module, fake())
    llm = make_llm(dtype=torch.bfloat16, page_size=page_size, attention_backend="fa")
    assert llm.engine.attn_backend.package == module  # type: ignore[attr-defined]
    assert agreement(generate(llm), expected) > 0.9


def agreement(tokens: list[list[int]], expected: list[list[int]]) -> float:
    """Share of equal tokens before a rounding of bfloat16 tips one: 1 where none does."""
    equal = [
        a == b for row, other in zip(tokens, expected, strict=True) for a, b in zip(row, other, strict=True)
    ]
    return sum(equal) / len(equal)


def test_flash_attention_that_reads_pages_works_in_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flash_attn_interface", fake_fa3())
    options = {"dtype": torch.bfloat16, "page_size": 4, "attention_backend": "fa"}
    assert generate(make_llm(**options, emulate_graph=True)) == generate(make_llm(**options))


def test_flash_attention_without_pages_is_refused_in_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flash_attn", fake_fa2())
    with pytest.raises(ValueError, match=r"flash_attn reads no pages.*'fa,triton'"):
        make_llm(dtype=torch.bfloat16, attention_backend="fa", emulate_graph=True)


def test_no_flash_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (
        "flash_attn_interface",
        "sgl_kernel.flash_attn",
        "flash_attn",
        "torch.nn.attention.varlen",
    ):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match="install flash-attn-3 or flash-attn, or choose"):
        find_flash_attention()


def test_flash_attention_refuses_float32() -> None:
    with pytest.raises(ValueError, match=r"float16 or bfloat16, not torch\.float32"):
        make_llm(attention_backend="fa")


# --- FlashInfer, by a stand-in ---


class FakePrefill:
    """Computes what a plan says, from the cache that `run` is given."""

    def __init__(self, workspace: torch.Tensor, kv_layout: str) -> None:
        assert kv_layout == "NHD"

    def plan(
        self, qo_indptr, indptr, pages, last_page_len, *, num_qo_heads, num_kv_heads, head_dim_qk, page_size,
        causal, q_data_type, kv_data_type,
    ):  # type: ignore[no-untyped-def]  # fmt: skip
        assert causal and (num_qo_heads, num_kv_heads, head_dim_qk) == (4, 2, 16)
        assert qo_indptr.device.type == indptr.device.type == "cpu" and pages.dtype == torch.int32
        self.planned = (qo_indptr, indptr, pages, last_page_len)

    def run(self, q: torch.Tensor, cache: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        qo_indptr, indptr, pages, last_page_len = self.planned
        keys, values = [], []
        for (start, end), last in zip(pairwise(indptr.tolist()), last_page_len.tolist(), strict=True):
            tokens = [x[pages[start:end].long()].flatten(0, 1) for x in cache]
            count = (end - start - 1) * cache[0].shape[1] + last
            keys.append(tokens[0][:count])
            values.append(tokens[1][:count])
        cu_k = torch.tensor([0, *torch.tensor([len(k) for k in keys]).cumsum(0).tolist()])
        return varlen_attention(q, torch.cat(keys), torch.cat(values), qo_indptr, cu_k, 16**-0.5)


class FakeDecode(FakePrefill):
    """In a graph only what stands in the buffers counts, which the plan copies there."""

    def __init__(
        self,
        workspace: torch.Tensor,
        kv_layout: str,
        *,
        use_tensor_cores: bool,
        use_cuda_graph: bool = False,
        **buffers: torch.Tensor,
    ) -> None:
        super().__init__(workspace, kv_layout)
        assert not use_tensor_cores, "two query heads share a key"
        self.buffers = (
            [buffers[f"paged_kv_{name}_buffer"] for name in ("indptr", "indices", "last_page_len")]
            if use_cuda_graph
            else None
        )

    def plan(
        self,
        indptr,
        pages,
        last_page_len,
        *,
        num_qo_heads,
        num_kv_heads,
        head_dim,
        page_size,
        q_data_type,
        kv_data_type,
    ):  # type: ignore[no-untyped-def,override]
        planned = [indptr, pages, last_page_len]
        if self.buffers is not None:
            assert len(indptr) == len(self.buffers[0]) and len(last_page_len) == len(self.buffers[2])
            for buffer, value in zip(self.buffers, planned, strict=True):
                buffer[: len(value)] = value
            planned = self.buffers
        self.planned = (torch.arange(len(indptr)), *planned)


@pytest.mark.parametrize("page_size", [1, 4])
@pytest.mark.parametrize("graph", [False, True])
def test_flashinfer(page_size: int, graph: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(
        BatchPrefillWithPagedKVCacheWrapper=FakePrefill, BatchDecodeWithPagedKVCacheWrapper=FakeDecode
    )
    monkeypatch.setitem(sys.modules, "flashinfer", fake)
    llm = make_llm(page_size=page_size, attention_backend="fi", emulate_graph=graph)
    assert generate(llm) == generate(make_llm(page_size=page_size))


def test_flashinfer_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flashinfer", None)
    with pytest.raises(ImportError, match="install flashinfer-python, or choose another"):
        make_llm(attention_backend="fi")


def test_half_precision_on_the_cpu_takes_torch() -> None:
    pool = create_kv_cache(
        num_layers=1,
        num_kv_heads=1,
        head_dim=4,
        num_pages=2,
        page_size=1,
        dtype=torch.bfloat16,
        device=torch.device("cpu"),
    )
    backend = create_attention_backend(
        "auto", kv_cache=pool, page_table=torch.zeros(1, 4), num_qo_heads=1, head_dim=4
    )
    assert isinstance(backend, TorchBackend)
