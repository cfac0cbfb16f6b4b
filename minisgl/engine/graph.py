"""CUDA graphs for decode: hundreds of kernel launches become one.

A graph records addresses, not a computation on whatever is passed: it reads the tensors that it was captured
with and nothing else. So every input is copied to a place that stays (`GraphCaptureBuffer`, and the attention
backend's own) before each replay, and a batch is padded with dummy requests to a size that was captured.

On a CPU there are no graphs. The emulated one runs the model again on exactly the tensors that a graph would
read, so that an input that nobody copied shows there, too, by other tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import torch

from ..attention import BaseAttnBackend
from ..core import Batch, Req
from ..utils import trace
from .sample import BatchSamplingArgs, sample_tokens

# Computes the logits of a batch whose tensors and metadata are set: [padded requests, vocab_size].
Forward: TypeAlias = Callable[[Batch], torch.Tensor]


class GraphOutput(NamedTuple):
    """What a replay leaves behind, overwritten by the next one."""

    logits: torch.Tensor  # [padded requests, vocab_size]
    tokens: torch.Tensor  # int32 [padded requests], drawn by `sample_tokens`
    next_ids: torch.Tensor  # the same as ids to go on with: where there is no token, 0


def choose_graph_sizes(max_bs: int) -> list[int]:
    """Batch sizes to capture, up to and including `max_bs`: 1, 2, 4, then every multiple of 8. None for 0.

    With steps of 8 a batch above 4 computes at most 7 dummies, which memory traffic hides.
    """
    return [size for size in (1, 2, 4, *range(8, max_bs, 8)) if size < max_bs] + [max_bs] * (max_bs > 0)


class GraphCaptureBuffer:
    """The inputs that graphs read, [size] each. A graph of n requests reads the first n entries."""

    def __init__(self, size: int, device: torch.device) -> None:
        # of the model, int32
        self.input_ids, self.out_loc, self.positions = torch.zeros(
            (3, size), dtype=torch.int32, device=device
        ).unbind(0)
        # of the sampler, float32 and float64
        self.temperatures = torch.zeros(size, device=device)
        self.uniforms = torch.zeros(size, dtype=torch.float64, device=device)
        self._is_greedy = True  # whether all temperatures are 0

    def set_batch(self, batch: Batch) -> None:
        """Have a batch that is about to be captured read from here."""
        size = batch.padded_size
        batch.input_ids = self.input_ids[:size]
        batch.out_loc = self.out_loc[:size]
        batch.positions = self.positions[:size]

    def copy_from(self, batch: Batch) -> None:
        """Copy a padded batch's inputs to where the graph of its size reads them; the rest stays."""
        size = batch.padded_size
        self.input_ids[:size] = batch.input_ids
        self.out_loc[:size] = batch.out_loc
        self.positions[:size] = batch.positions

    def copy_sampling(self, args: BatchSamplingArgs) -> None:
        """Copy what `sample_tokens` needs of a batch's requests. What it draws for dummies nobody reads."""
        if args.temperatures is not None and args.uniforms is not None:
            size = len(args.temperatures)
            self.temperatures[:size] = args.temperatures
            self.uniforms[:size] = args.uniforms
            self._is_greedy = False
        elif not self._is_greedy:
            self.temperatures.zero_()
            self._is_greedy = True


_Run: TypeAlias = Callable[[Batch], GraphOutput]


class _Graph(Protocol):
    output: GraphOutput

    def replay(self) -> None: ...


class CapturedGraph:
    """A graph of the GPU."""

    def __init__(self, run: _Run, batch: Batch, pool: Any, stream: torch.cuda.Stream) -> None:
        run(batch)  # compiles kernels and allocates workspaces, which must not be recorded
        torch.cuda.synchronize()
        self._graph = torch.cuda.CUDAGraph()
        # Other threads may ask the GPU something meanwhile: with several ranks, NCCL's does.
        errors = "thread_local"
        with torch.cuda.graph(self._graph, pool=pool, stream=stream, capture_error_mode=errors):
            self.output = run(batch)

    def replay(self) -> None:
        self._graph.replay()


class EmulatedGraph:
    """The model run anew on the tensors of the captured batch."""

    def __init__(self, run: _Run, batch: Batch) -> None:
        self._run, self._batch = run, batch
        self.output = run(batch)

    def replay(self) -> None:
        self.output = self._run(self._batch)


class GraphRunner:
    """Pads decode batches and replays the graph of their size.

    Attributes that others read: `graph_bs_list` (sizes that have a graph, ascending), `max_graph_bs` (0
    without graphs), `dummy_req`, `buffer`.
    """

    def __init__(
        self,
        forward: Forward,
        attn_backend: BaseAttnBackend,
        dummy_req: Req,
        *,
        graph_bs_list: Sequence[int],
        max_seq_len: int,
        dummy_loc: int,
        device: torch.device,
        stream: torch.cuda.Stream | None = None,
    ) -> None:
        """Capture one graph a size. Without a stream they are emulated.

        `dummy_loc` is a place in the KV pool that nobody reads: captures write there.
        """
        self.graph_bs_list = sorted(set(graph_bs_list))
        self.max_graph_bs = max(self.graph_bs_list, default=0)
        self.dummy_req = dummy_req
        self._forward = forward
        self._attn_backend = attn_backend
        self._graphs: dict[int, _Graph] = {}
        if not self.graph_bs_list:
            return
        self.buffer = GraphCaptureBuffer(self.max_graph_bs, device)
        self.buffer.out_loc.fill_(dummy_loc)
        attn_backend.init_capture_graph(max_seq_len, self.graph_bs_list)
        pool = None if stream is None else torch.cuda.graph_pool_handle()
        # The largest first: the others then find all the memory that they need in its pool.
        for size in reversed(self.graph_bs_list):
            batch = Batch([dummy_req] * size, "decode")
            self.buffer.set_batch(batch)
            attn_backend.prepare_for_capture(batch)
            if stream is None or pool is None:
                self._graphs[size] = EmulatedGraph(self._run, batch)
            else:
                self._graphs[size] = CapturedGraph(self._run, batch, pool, stream)
            trace.emit("graph_capture", size=size)

    def can_use_cuda_graph(self, batch: Batch) -> bool:
        """Whether there is a graph for a batch like this one, padded as it is."""
        return batch.is_decode and batch.padded_size in self._graphs

    def pad_batch(self, batch: Batch) -> None:
        """Set `padded_reqs`: the batch's requests, and dummies up to the smallest size that has a graph.

        Prefill batches and those without a graph get no dummies.
        """
        count, padding = len(batch.reqs), 0
        if batch.is_decode and count <= self.max_graph_bs:
            padding = min(size for size in self.graph_bs_list if size >= count) - count
        batch.padded_reqs = batch.reqs + [self.dummy_req] * padding

    def replay(self, batch: Batch) -> GraphOutput:
        """Logits of a padded batch, and tokens drawn from them as the buffer's sampling inputs say."""
        self.buffer.copy_from(batch)
        self._attn_backend.prepare_for_replay(batch)
        trace.emit("graph_replay", size=batch.size, padded_size=batch.padded_size)
        graph = self._graphs[batch.padded_size]
        graph.replay()
        return graph.output

    def _run(self, batch: Batch) -> GraphOutput:
        """What a graph records."""
        logits = self._forward(batch)
        size = batch.padded_size
        buffer = self.buffer
        tokens = sample_tokens(logits, buffer.temperatures[:size], buffer.uniforms[:size])
        return GraphOutput(logits, tokens, tokens.clamp(min=0))
