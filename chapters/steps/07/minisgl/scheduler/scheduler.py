"""One step after another: take messages, choose a batch, run it, hand out its tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import torch

from ..core import Batch, Req, flat_positions
from ..engine import NO_TOKEN, Engine, ForwardOutput
from ..message import AbortBackendMsg, BaseBackendMsg, DetokenizeMsg, UserMsg
from ..utils import trace
from .config import SchedulerConfig
from .decode import DecodeManager
from .io import SchedulerIOMixin
from .prefill import PrefillManager
from .table import TableManager
from .utils import index_tensor

if TYPE_CHECKING:
    from ..engine import BatchSamplingArgs

Indices2D: TypeAlias = tuple[torch.Tensor, torch.Tensor]


class ForwardInput(NamedTuple):
    """A batch, ready to run."""

    batch: Batch
    sample_args: BatchSamplingArgs
    input_tuple: Indices2D  # int64 [N] each: row and position of every token to read from the token pool
    write_tuple: Indices2D  # int64 [B] each: row and position where each request's next token goes


ForwardData: TypeAlias = tuple[ForwardInput, ForwardOutput]


class Scheduler(SchedulerIOMixin):
    """Runs an engine for many requests at once."""

    def __init__(self, config: SchedulerConfig) -> None:
        super().__init__()
        self.config = config
        self.engine = Engine(config)
        self.device = self.engine.device
        self.table_manager = TableManager(config.max_running_req, self.engine.page_table)
        self._give_each_row_its_region()
        self.decode_manager = DecodeManager()
        self.prefill_manager = PrefillManager(self.table_manager)
        self.token_pool = self.table_manager.token_pool
        self.prefill_budget = config.max_extend_tokens
        self.eos_token_ids = frozenset(self.engine.model_config.eos_token_ids)
        self.is_shut_down = False

    def check_prompt(self, input_len: int) -> None:
        """ValueError when a prompt of this length could never run; the message names the limit."""
        if input_len == 0:
            raise ValueError("the prompt is empty: there is no token to continue")
        if input_len + 1 > self.engine.max_seq_len:
            raise ValueError(
                f"the prompt has {input_len} tokens; with one token of output that is more than the"
                f" {self.engine.max_seq_len} that a sequence may have (max_seq_len)"
            )
        if input_len > self.prefill_budget:
            raise ValueError(
                f"the prompt has {input_len} tokens, more than the {self.prefill_budget} that one prefill may"
                " compute (max_extend_tokens)"
            )

    def normal_loop(self) -> None:
        """One step: the batch is chosen, run and handled before the next one is chosen."""
        blocking = not (self.prefill_manager.runnable or self.decode_manager.runnable)
        for msg in self.receive_msg(blocking=blocking):
            self._process_one_msg(msg)
        forward_input = self._schedule_next_batch()
        if forward_input is not None:
            self._process_last_data((forward_input, self._forward(forward_input)))
        elif self.prefill_manager.runnable or self.decode_manager.runnable:
            raise RuntimeError(
                f"nothing was scheduled although {len(self.prefill_manager.pending_list)} requests wait"
                f" and {len(self.decode_manager.running_reqs)} run: no later step could do better"
            )

    def run_when_idle(self) -> None:
        """No request is left: every row must be free."""
        taken = self.config.max_running_req - self.table_manager.available_size
        if taken:
            raise RuntimeError(
                f"integrity check failed: no request is left, but {taken} rows of the page table are taken"
            )

    def reset(self) -> None:
        """Drop all requests; take back every row, whatever its state."""
        self.engine.reset()
        self.inbox.clear()
        self.outbox.clear()
        self.prefill_manager.reset()
        self.decode_manager.reset()
        self.table_manager.reset()

    def shutdown(self) -> None:
        """Release the engine. The scheduler cannot be used any more; a second call does nothing."""
        if not self.is_shut_down:
            self.is_shut_down = True
            self.engine.shutdown()

    def _process_one_msg(self, msg: BaseBackendMsg) -> None:
        if isinstance(msg, UserMsg):
            self.check_prompt(len(msg.input_ids))
            room = self.engine.max_seq_len - len(msg.input_ids)
            if msg.sampling_params.max_tokens > room:
                msg = replace(msg, sampling_params=replace(msg.sampling_params, max_tokens=room))
            self.prefill_manager.add_one_req(msg)
        elif isinstance(msg, AbortBackendMsg):
            self._abort_req(msg.uid)
        else:
            raise TypeError(f"the scheduler does not know messages of type {type(msg).__name__}")

    def _abort_req(self, uid: int) -> None:
        """Stop a request wherever it is; nothing happens when it has ended already."""
        running = self.decode_manager.abort_req(uid)
        if running is not None:
            self.table_manager.free(running.table_idx)
        if running is not None or self.prefill_manager.abort_req(uid):
            trace.emit("abort", req=uid)

    def _schedule_next_batch(self) -> ForwardInput | None:
        """Prefill first: a waiting request costs more latency than a running one that pauses for a step."""
        batch = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        if batch is None:
            batch = self.decode_manager.schedule_next_batch()
        return None if batch is None else self._prepare_batch(batch)

    def _prepare_batch(self, batch: Batch) -> ForwardInput:
        """Give the batch everything that the model and the sampler read."""
        rows, positions = flat_positions(batch.padded_reqs)
        input_tuple = (rows.to(self.device), positions.to(self.device, torch.int64))
        batch.positions = positions.to(self.device)
        batch.out_loc = self.engine.page_table[input_tuple]
        self.engine.attn_backend.prepare_metadata(batch)
        write_tuple = (
            index_tensor([req.table_idx for req in batch.reqs], self.device),
            index_tensor([req.device_len for req in batch.reqs], self.device),
        )
        self._trace_batch(batch)
        return ForwardInput(batch, self.engine.sampler.prepare(batch), input_tuple, write_tuple)

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        """Run the batch; the token pool passes each sampled token on to the next step."""
        batch, sample_args, input_tuple, write_tuple = forward_input
        trace.emit("forward_start", phase=batch.phase, tokens=len(batch.positions))
        batch.input_ids = self.token_pool[input_tuple]
        output = self.engine.forward_batch(batch, sample_args)
        self.token_pool[write_tuple] = output.next_tokens_gpu
        self.decode_manager.filter_reqs(batch.reqs)
        trace.emit("forward_end", phase=batch.phase, tokens=len(batch.positions))
        return output

    def _process_last_data(self, last_data: ForwardData | None) -> None:
        """Hand out the tokens of a batch, and end the requests that are done."""
        if last_data is None:
            return
        batch, output = last_data[0].batch, last_data[1]
        if output.copy_done_event is not None:
            output.copy_done_event.synchronize()
        reply: list[DetokenizeMsg] = []
        for req, next_token in zip(batch.reqs, output.next_tokens_cpu.split(1), strict=True):
            token = int(next_token)
            if token == NO_TOKEN:
                raise RuntimeError(
                    f"request {req.uid}: the model's logits are not finite numbers; its weights are"
                    f" unusable, or too large for {self.engine.dtype}"
                )
            req.append_host(next_token)
            finished = len(req.input_ids) >= req.max_device_len or self._is_eos(req, token)
            reply.append(DetokenizeMsg(uid=req.uid, next_token=token, finished=finished))
            if finished:
                self.decode_manager.remove_req(req)
                self.table_manager.free(req.table_idx)
        self.send_result(reply)

    def _is_eos(self, req: Req, token: int) -> bool:
        return token in self.eos_token_ids and not req.sampling_params.ignore_eos

    def _give_each_row_its_region(self) -> None:
        """Row r owns a fixed stretch of the pool, as long as a sequence may be. Most of it is never used.

        ValueError when the pool does not hold as many.
        """
        rows, length = self.config.max_running_req, self.engine.max_seq_len
        pool = self.engine.num_pages * self.engine.page_size
        if rows * length > pool:
            raise ValueError(
                f"{rows} requests of up to {length} tokens need a KV pool of {rows * length} tokens, this one"
                f" has {pool}: set max_running_req or max_seq_len_override lower, or num_page_override higher"
            )
        starts = torch.arange(rows, dtype=torch.int32, device=self.device) * length
        offsets = torch.arange(length, dtype=torch.int32, device=self.device)
        self.engine.page_table[:rows, :length] = starts[:, None] + offsets

    def _trace_batch(self, batch: Batch) -> None:
        """Record the batch and the locations that its rows name. Seen from here and not reported by whoever
        wrote them, so that the record is the same when a method has been replaced.
        """
        recorder = trace.active()
        if recorder is None:
            return
        for req in batch.reqs:
            row = self.engine.page_table[req.table_idx, : req.device_len]
            recorder.add_row(req.uid, req.table_idx, row.tolist())
        uids = [req.uid for req in batch.reqs]
        trace.emit("batch", phase=batch.phase, uids=uids, tokens=[req.extend_len for req in batch.reqs])
