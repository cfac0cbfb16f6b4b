"""The engine: a model, its KV pool, and one forward at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from ..attention import create_attention_backend
from ..core import Batch, Context, Req, SamplingParams, reset_global_ctx, set_global_ctx
from ..distributed import set_tp_info
from ..distributed.impl import all_gather_int
from ..distributed.info import check_split, rank_device
from ..kernel import decode_inputs
from ..kvcache import BaseKVCachePool, create_kv_cache
from ..models import create_model, fill_model, load_config, load_weights, resolve_model
from ..moe import create_moe_backend
from ..utils import align_up, cdiv, div_even
from ..utils.memory import available_memory
from ..utils.stream import new_stream
from .config import EngineConfig
from .graph import GraphRunner, choose_graph_sizes
from .logprobs import TokenLogprobs
from .sample import BatchSamplingArgs, Sampler

_MAX_GRAPH_BS = 256  # larger batches gain little: their kernels take longer than a launch
_WARM_UP_TOKENS = 512


class ForwardOutput(NamedTuple):
    next_tokens_gpu: torch.Tensor  # int32 [B] on the engine's device: the next step's input
    next_tokens_cpu: (
        torch.Tensor
    )  # int32 [B] on the CPU, `NO_TOKEN` for none; valid once the event has happened
    copy_done_event: torch.cuda.Event | None  # None where nothing had to be copied
    logprobs: TokenLogprobs | None = None  # on the CPU like the tokens; None when nobody asked

    def logprob_of(self, i: int) -> tuple[float | None, list[list[float]] | None]:
        """As `TokenLogprobs.of`, of the batch's i-th request; nothing when nobody asked."""
        return (None, None) if self.logprobs is None else self.logprobs.of(i)


def plan_num_pages(
    free_before: Sequence[int],
    free_after: Sequence[int],
    memory_ratio: float,
    page_bytes: int,
    override: int | None = None,
) -> int:
    """Pages that the KV pool gets, the dummy page not counted.

    Args:
        free_before: free bytes before the weights were loaded, one entry a rank.
        free_after: free bytes after that.
        memory_ratio: share of the free memory before loading that weights and pool may take together.
        page_bytes: bytes of one page over all layers.
        override: pages to take instead.

    Raises:
        ValueError: there would be fewer than 2 pages.
    """
    if override is not None:
        pages = override
    else:
        # Every rank must have the same pool, so the one with the least room decides.
        room = min(
            int(memory_ratio * before) - (before - after)
            for before, after in zip(free_before, free_after, strict=True)
        )
        pages = room // page_bytes - 1
    if pages < 2:
        raise ValueError(
            f"the KV pool would have {pages} pages, and needs at least 2: free some memory, or set"
            " memory_ratio or num_page_override"
        )
    return pages


class Engine:
    """Runs batches that a scheduler has prepared.

    As one of several ranks it holds a share of the weights and of the KV, and all ranks run the same batches;
    the process has joined the others before (`distributed.launch`).

    Attributes that others read: `device`, `stream` (of the forwards), `dtype`, `model_config`, `model_path`
    (None for a model in memory), `page_size`, `num_pages`, `max_seq_len`, `page_table`, `ctx`, `model`,
    `attn_backend`, `sampler`, `dummy_req`, `graph_runner`.
    """

    def __init__(self, config: EngineConfig) -> None:
        """Load the model and make its pool.

        Raises:
            FileNotFoundError: there is no such model.
            ValueError: its config or weights are unusable, or too little memory is free.
        """
        self.tp_info = config.tp_info
        set_tp_info(self.tp_info.rank, self.tp_info.size)
        self.device = rank_device(config.device, self.tp_info)
        self.stream = new_stream(self.device)  # the scheduler works beside it
        self.page_size = config.page_size
        self.model_path: Path | None = None
        if isinstance(config.model, tuple):
            self.model_config, state_dict = config.model
        else:
            state_dict = {}
            self.model_path = resolve_model(config.model)
            self.model_config = load_config(self.model_path)
        check_split(self.model_config, self.tp_info.size)
        num_kv_heads = self.model_config.num_kv_heads
        self.num_kv_heads = div_even(num_kv_heads, self.tp_info.size, allow_replicate=True)
        max_position = self.model_config.rotary_config.max_position
        longest = config.max_seq_len_override or max_position
        if longest > max_position:
            raise ValueError(f"max_seq_len_override {longest} is above the model's {max_position} positions")
        on_cpu = self.device.type == "cpu"
        self.dtype = config.dtype or (torch.float32 if on_cpu else self.model_config.dtype)

        free_before = all_gather_int(self._free_memory())
        self.model = create_model(self.model_config, self.device, self.dtype)
        pairs = load_weights(
            self.model_path or state_dict,
            self.device,
            self.dtype,
            num_experts=self.model_config.num_experts,
            tp_info=self.tp_info,
            num_kv_heads=num_kv_heads,
            by_columns=on_cpu and self.dtype == torch.float32 and torch.backends.mkl.is_available(),
        )
        origin = str(self.model_path or "the state dict")
        fill_model(self.model, pairs, tied=self.model_config.tie_word_embeddings, origin=origin)

        self.num_pages = self._plan_num_pages(config, free_before, longest)
        self.max_seq_len = min(longest, self.num_pages * self.page_size)
        self.kv_cache = self._make_kv_cache()
        self.page_table = self._make_page_table(config.max_running_req)
        self.dummy_req = self._make_dummy_req(config.max_running_req)
        self.attn_backend = create_attention_backend(
            config.attention_backend,
            kv_cache=self.kv_cache,
            page_table=self.page_table,
            num_qo_heads=div_even(self.model_config.num_qo_heads, self.tp_info.size),
            head_dim=self.model_config.head_dim,
        )
        self.sampler = Sampler(
            self.device, self.model_config.vocab_size, config.seed, config.max_running_req + 1
        )
        self.ctx = Context(self.page_size)
        self.ctx.page_table = self.page_table
        self.ctx.kv_cache = self.kv_cache
        self.ctx.attn_backend = self.attn_backend
        self.ctx.moe_backend = create_moe_backend(config.moe_backend, self.device)
        self.graph_runner = self._make_graph_runner(config)
        if self.device.type == "cuda":
            self._warm_up()

    @torch.inference_mode()
    def forward_batch(self, batch: Batch, args: BatchSamplingArgs) -> ForwardOutput:
        """Compute the batch's tokens, store their KV, and sample each request's next token.

        The scheduler has set the batch's tensors and the backend its metadata. Every request moves on by one.
        """
        drawn = next_ids = None
        if self.graph_runner.can_use_cuda_graph(batch):
            self.graph_runner.buffer.copy_sampling(args)
            logits, drawn, next_ids = (x[: batch.size] for x in self.graph_runner.replay(batch))
        else:
            logits = self._logits(batch)[: batch.size]
        for req in batch.reqs:
            req.complete_one()
        tokens = self.sampler.sample(logits, args, drawn)
        logprobs = self.sampler.logprobs(logits, tokens, args)
        if next_ids is None or tokens is not drawn:
            # The next step may be on its way before anybody sees that a request failed: it needs some id.
            next_ids = tokens.clamp(min=0)
        if self.device.type != "cuda":
            return ForwardOutput(next_ids, tokens, None, logprobs)
        on_cpu = tokens.to("cpu", non_blocking=True)
        copy_done = torch.cuda.Event()
        copy_done.record()
        return ForwardOutput(next_ids, on_cpu, copy_done, logprobs)

    def reset(self) -> None:
        """Forget a forward that an interrupt has torn off, at whatever line."""
        reset_global_ctx()
        self.ctx.reset()

    def shutdown(self) -> None:
        """Give the device's memory back. The engine is of no use afterwards."""
        set_tp_info(0, 1)
        # The runner first: its graphs hold memory, and the model by what they call.
        del self.graph_runner, self.model, self.kv_cache, self.page_table, self.attn_backend, self.ctx

    def _logits(self, batch: Batch) -> torch.Tensor:
        """Logits of each request's next token, [padded requests, vocab_size]."""
        with self._active(batch):
            return self.model.forward()

    @contextmanager
    def _active(self, batch: Batch) -> Iterator[None]:
        # Set around each forward and not once: several engines may live in one process.
        set_global_ctx(self.ctx)
        try:
            with self.ctx.forward_batch(batch):
                yield
        finally:
            reset_global_ctx()

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of one token's keys and values in this rank's pool, over all layers."""
        of_a_head = self.model_config.kv_elements_per_token // self.model_config.num_kv_heads
        return of_a_head * self.num_kv_heads * self.dtype.itemsize

    @torch.inference_mode()
    def _make_graph_runner(self, config: EngineConfig) -> GraphRunner:
        on_cuda = self.device.type == "cuda"
        can_capture = on_cuda and (self.ctx.moe_backend.can_capture or not self.model_config.is_moe)
        sizes: Sequence[int] = ()
        if config.cuda_graph_max_bs != 0 and (can_capture or config.emulate_graph):
            largest = config.cuda_graph_max_bs or (_MAX_GRAPH_BS if on_cuda else config.max_running_req)
            sizes = config.cuda_graph_bs or choose_graph_sizes(min(largest, config.max_running_req))
            # No batch is larger: what a graph for more requests holds is never used.
            sizes = [min(size, config.max_running_req) for size in sizes]
        return GraphRunner(
            self._logits,
            self.attn_backend,
            self.dummy_req,
            graph_bs_list=sizes,
            max_seq_len=self.page_table.shape[1],
            dummy_loc=self.num_pages * self.page_size,
            device=self.device,
            stream=torch.cuda.Stream(self.device) if on_cuda else None,
        )

    @torch.inference_mode()
    def _warm_up(self) -> None:
        """Compute a prompt and decodes whose KV nobody reads, and draw tokens, so that no user waits while
        kernels compile. Decodes that have a graph have run when it was captured.
        """
        length = min(_WARM_UP_TOKENS, self.max_seq_len - 1)
        prompt = replace(self.dummy_req, input_ids=torch.zeros(length, dtype=torch.int32))
        logits = self._dummy_logits(Batch([prompt], "prefill"))
        row = torch.full((1,), prompt.table_idx, device=self.device)
        temperatures, uniforms = self.sampler.gather(row, row)
        for args in (BatchSamplingArgs(), BatchSamplingArgs(temperatures, uniforms)):
            self.sampler.sample(logits, args)
        decode_inputs(torch.stack((row, torch.zeros_like(row))), self.page_table)
        most = len(self.page_table) - 1
        for size in {1, 2, 3, 4, 8, most}:  # few and many requests take different kernels
            if self.graph_runner.max_graph_bs < size <= most:
                self._dummy_logits(Batch([self.dummy_req] * size, "decode"))
        torch.cuda.synchronize(self.device)

    def _dummy_logits(self, batch: Batch) -> torch.Tensor:
        """Logits of a batch of zeros in the dummy page."""
        positions = [torch.arange(req.extend_len, dtype=torch.int32) for req in batch.reqs]
        batch.positions = torch.cat(positions).to(self.device)
        batch.input_ids = torch.zeros_like(batch.positions)
        batch.out_loc = self.page_table[self.dummy_req.table_idx][batch.positions.long()]
        self.attn_backend.prepare_metadata(batch)
        return self._logits(batch)

    def _plan_num_pages(self, config: EngineConfig, free_before: list[int], longest: int) -> int:
        pages = plan_num_pages(
            free_before,
            all_gather_int(self._free_memory()),
            config.memory_ratio,
            self.kv_bytes_per_token * self.page_size,
            config.num_page_override,
        )
        if config.num_page_override is None:  # more than all rows can fill is of no use
            pages = max(2, min(pages, config.max_running_req * cdiv(longest, self.page_size)))
        return pages

    def _make_kv_cache(self) -> BaseKVCachePool:
        config, slots = self.model_config, (self.num_pages + 1) * self.page_size
        size = f"a KV pool of {self.num_pages} pages of {self.page_size} tokens"
        if slots > torch.iinfo(torch.int32).max:
            raise ValueError(f"{size} is too large for the page table, which is int32")
        try:
            return create_kv_cache(
                num_layers=config.num_layers,
                num_kv_heads=self.num_kv_heads,
                head_dim=config.head_dim,
                num_pages=self.num_pages,
                page_size=self.page_size,
                dtype=self.dtype,
                device=self.device,
            )
        except RuntimeError as error:
            gib = slots * self.kv_bytes_per_token / 2**30
            raise ValueError(
                f"{size} takes {gib:.1f} GiB, more than could be had: set a smaller num_page_override"
            ) from error

    def _make_page_table(self, max_running_req: int) -> torch.Tensor:
        # Token locations, not page numbers: attention then needs no arithmetic. Whole pages fit into a row.
        shape = max_running_req + 1, align_up(self.max_seq_len, self.page_size)
        nbytes = 2 * 4 * shape[0] * shape[1]  # with the token pool, which is as large
        try:
            if (
                self.device.type == "cpu" and nbytes > available_memory()
            ):  # given, but gone once it is written
                raise RuntimeError("too little memory is free")
            return torch.zeros(shape, dtype=torch.int32, device=self.device)
        except RuntimeError as error:
            raise ValueError(
                f"a page table of {max_running_req} requests of {self.max_seq_len} tokens takes"
                f" {nbytes / 2**30:.1f} GiB, more than could be had: set a smaller max_running_req or"
                " max_seq_len_override"
            ) from error

    def _free_memory(self) -> int:
        """Bytes that are free on the engine's device for this rank."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
            torch.cuda.empty_cache()
            return torch.cuda.mem_get_info(self.device)[0]
        return available_memory() // self.tp_info.size  # the ranks share the machine

    def _make_dummy_req(self, row: int) -> Req:
        """The request that padding stands for; its row points at the dummy page, behind the real ones."""
        self.page_table[row].fill_(self.num_pages * self.page_size)
        return Req(
            input_ids=torch.zeros(1, dtype=torch.int32),
            table_idx=row,
            cached_len=0,
            output_len=1,
            uid=-1,
            sampling_params=SamplingParams(max_tokens=1),
            cache_handle=None,  # type: ignore[arg-type] # it never holds a prefix
        )
