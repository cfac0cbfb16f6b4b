"""One step after another: take messages, choose a batch, run it, hand out its tokens."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import torch

from ..core import Batch, ChunkedReq, Req, flat_positions
from ..engine import NO_TOKEN, Engine, ForwardOutput
from ..env import ENV
from ..kernel import decode_inputs, use_triton
from ..message import AbortBackendMsg, BaseBackendMsg, DetokenizeMsg, UserMsg
from ..utils import int_tensor, trace
from ..utils.stream import current_stream, on_stream
from .cache import CacheManager
from .config import SchedulerConfig
from .decode import DecodeManager
from .intake import IntakeMixin
from .io import SchedulerIOMixin
from .prefill import PrefillManager
from .retract import RetractMixin
from .table import TableManager
from .utils import error_msg, finish_reason, record_batch, recorded_cache_req, to_device

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


class Scheduler(SchedulerIOMixin, IntakeMixin, RetractMixin):
    """Runs an engine for many requests at once.

    A step is launched (`_forward`) and later handled (`_process_last_data`). `normal_loop` handles each step
    before it prepares the next; `overlap_loop` prepares and launches the next one first, so that the device
    never waits for the CPU. What is known at launch is then one token ahead of what has been handled:
    `cached_len` and `device_len` count a token whose value the CPU has not seen.
    """

    def __init__(self, config: SchedulerConfig, **queues: Any) -> None:
        """`queues` are those of `SchedulerIOMixin`. Raises what `Engine` raises."""
        super().__init__(**queues)
        self.config = config
        self.engine = Engine(config)
        self.device = self.engine.device
        # Two streams: what is prepared for a step must not queue up behind the step before.
        self.stream = current_stream(self.device)
        self.engine_stream_ctx = on_stream(self.engine.stream)
        page_table = self.engine.page_table
        self.table_manager = TableManager(config.max_running_req, page_table)
        self.cache_manager = CacheManager(
            self.engine.num_pages, config.page_size, page_table, config.cache_type
        )
        self.decode_manager = DecodeManager(config.page_size)
        self.prefill_manager = PrefillManager(
            self.cache_manager,
            self.table_manager,
            self.decode_manager,
            policy=config.policy,
            lpm_bound=config.lpm_bound,
            optimistic=config.admission == "optimistic",
            watermark=config.watermark,
        )
        self.token_pool = self.table_manager.token_pool
        self.engine.sampler.penalties.token_pool = self.token_pool
        self.prefill_budget = config.max_extend_tokens
        self.eos_token_ids = frozenset(self.engine.model_config.eos_token_ids)
        # With several, all of them are among each request's stop ids.
        self.eos_token_id = min(self.eos_token_ids, default=None)
        self.finished_reqs: set[Req] = set()  # ended, but maybe in the batch that is handled next
        self.deferred_slots: list[int] = []  # rows that a batch in flight may still write to
        self._launched: deque[Batch] = deque()  # batches in flight, the oldest first
        self.is_shut_down = False

    @property
    def overlap(self) -> bool:
        """Whether each step is prepared while the one before it computes."""
        # Ranks must not change it apart: `launch_ranks` has asked once for all of them.
        if self.config.tp_info.size == 1 and ENV.DISABLE_OVERLAP_SCHEDULING.value:
            return False
        return self.device.type == "cuda" if self.config.overlap is None else self.config.overlap

    @property
    def in_flight(self) -> bool:
        """Whether a batch has been launched that is not known to be done."""
        return len(self._launched) > 0

    def run_forever(self) -> None:
        """Serve until the process ends."""
        last_data: ForwardData | None = None
        with on_stream(self.stream):
            while True:
                last_data = self.step(last_data)

    def step(self, last_data: ForwardData | None) -> ForwardData | None:
        """One round of the loop that is in force. Returns what the next call wants to have."""
        if self.overlap:
            return self.overlap_loop(last_data)
        if last_data is not None:  # overlap was on until now
            self._process_last_data(last_data)
        self.normal_loop()
        return None

    def normal_loop(self) -> None:
        """One step: the batch is chosen, run and handled before the next one is chosen."""
        blocking = not (self.prefill_manager.runnable or self.decode_manager.runnable)
        for msg in self.receive_msg(blocking=blocking):
            self._process_one_msg(msg)
        forward_input = self._schedule_next_batch()
        if forward_input is None:
            return
        with self.engine_stream_ctx:
            self.engine.stream.wait_stream(self.stream)
            data = forward_input, self._forward(forward_input)
        self._process_last_data(data)

    def overlap_loop(self, last_data: ForwardData | None) -> ForwardData | None:
        """One step: a batch is chosen and launched, and while it runs the one before it is handled.

        Args:
            last_data: what the last call returned.

        Returns:
            The batch launched now, which the next call handles; None when there was nothing to launch.
        """
        blocking = last_data is None and not (self.prefill_manager.runnable or self.decode_manager.runnable)
        for msg in self.receive_msg(blocking=blocking):
            self._process_one_msg(msg)
        forward_input = self._schedule_next_batch()
        ongoing_data: ForwardData | None = None
        if forward_input is not None:
            with self.engine_stream_ctx:
                self.engine.stream.wait_stream(self.stream)
                ongoing_data = forward_input, self._forward(forward_input)
        self._process_last_data(last_data)
        return ongoing_data

    @property
    def is_busy(self) -> bool:
        """Whether a message, a request or a batch in flight is left."""
        return (
            bool(self.inbox)
            or self.prefill_manager.runnable
            or self.decode_manager.runnable
            or self.in_flight
        )

    def run_when_idle(self) -> None:
        """No request is left: every page must be free or cached, every row free, no cached prefix locked."""
        self.cache_manager.check_integrity()
        taken = self.config.max_running_req - self.table_manager.available_size
        locked = self.cache_manager.prefix_cache.size_info.protected_size
        if taken or locked:
            raise RuntimeError(
                f"integrity check failed: no request is left, but {taken} rows of the page table are taken"
                f" and {locked} cached tokens are locked"
            )

    def reset(self) -> None:
        """Drop all requests and cached prefixes; take back every page and row, whatever their state."""
        self.engine.stream.synchronize()
        self.engine.reset()
        self.inbox.clear()
        self.outbox.clear()
        self.prefill_manager.reset()
        self.decode_manager.reset()
        self.table_manager.reset()
        self.cache_manager.reset()
        self.finished_reqs.clear()
        self.deferred_slots.clear()
        self._launched.clear()

    def shutdown(self) -> None:
        """Release the engine. The scheduler cannot be used any more; a second call does nothing."""
        if not self.is_shut_down:
            self.is_shut_down = True
            self.engine.shutdown()

    def _process_one_msg(self, msg: BaseBackendMsg) -> None:
        if isinstance(msg, UserMsg):
            try:
                self._add_user_msg(msg)
            except ValueError as error:
                self.send_result([error_msg(msg.uid, str(error))])
        elif isinstance(msg, AbortBackendMsg):
            self._abort_req(msg.uid)
        else:
            raise TypeError(f"the scheduler does not know messages of type {type(msg).__name__}")

    def _abort_req(self, uid: int) -> None:
        """Stop a request wherever it is; nothing happens when it has ended already."""
        req = self.prefill_manager.abort_req(uid) or self.decode_manager.abort_req(uid)
        if req is not None:
            # the batch in flight may hold it: its token there is nobody's any more
            self.finished_reqs.add(req)
            self._free_req_resources(req)

    def _schedule_next_batch(self) -> ForwardInput | None:
        batch = self._mixed_batch() if self.config.mixed else self._prefill_or_decode_batch()
        if batch is not None:
            return self._prepare_batch(batch)
        if not self.in_flight and (self.prefill_manager.runnable or self.decode_manager.runnable):
            raise RuntimeError(
                f"nothing was scheduled although {len(self.prefill_manager.pending_list)} requests wait"
                f" and {len(self.decode_manager.running_reqs)} run: no later step could do better"
            )
        return None

    def _prefill_or_decode_batch(self) -> Batch | None:
        """Prefill first: a waiting request costs more latency than a running one that pauses for a step."""
        batch = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        if batch is None and self._make_room():
            batch = self.decode_manager.schedule_next_batch()
        return batch

    def _mixed_batch(self) -> Batch | None:
        """All running requests go on; what is left of the budget computes prompts."""
        if not self._make_room():
            return None
        running = {req.uid: req for req in self.decode_manager.running_reqs}
        room = self.prefill_budget - len(running)
        plan = plan_mixed(list(running), self.prefill_manager.waiting_tokens(room), self.prefill_budget)
        decodes = [running[uid] for uid, _ in plan if uid in running]
        prompts = self.prefill_manager.schedule_planned(entry for entry in plan if entry[0] not in running)
        if prompts:
            return Batch(decodes + prompts, "prefill", num_decodes=len(decodes))
        return Batch(decodes, "decode") if decodes else None

    def _prepare_batch(self, batch: Batch) -> ForwardInput:
        """Give the batch its pages and everything that the model and the sampler read."""
        self.engine.graph_runner.pad_batch(batch)
        self.cache_manager.allocate_paged(batch.reqs)
        input_tuple, write_tuple = self._decode_indices(batch) if batch.is_decode else self._indices(batch)
        self.engine.attn_backend.prepare_metadata(batch)
        record_batch(batch, self.engine.page_table)
        sample_args = self.engine.sampler.prepare(batch, write_tuple)
        return ForwardInput(batch, sample_args, input_tuple, write_tuple)

    def _indices(self, batch: Batch) -> tuple[Indices2D, Indices2D]:
        """Set a batch's positions and locations. Returns where its tokens are read and where the next go."""
        rows, positions = flat_positions(batch.padded_reqs)
        # After a chunk comes a token of the prompt: what is sampled there goes to the dummy request's row.
        dummy = self.engine.dummy_req
        targets = [dummy.table_idx if isinstance(req, ChunkedReq) else req.table_idx for req in batch.reqs]
        ends = [req.device_len for req in batch.reqs]
        # one copy to the device for all four
        indices = to_device(torch.cat([rows, positions, int_tensor(targets + ends)]), self.device)
        row, position, target, end = indices.split([len(rows), len(rows), batch.size, batch.size])
        batch.positions = position.int()
        batch.out_loc = self.engine.page_table[row, position]
        return (row, position), (target, end)

    def _decode_indices(self, batch: Batch) -> tuple[Indices2D, Indices2D]:
        """The same where each request has one token, with fewer launches: at small batches they are what a
        step takes.
        """
        if not use_triton(self.token_pool):
            return self._indices(batch)
        rows = [req.table_idx for req in batch.padded_reqs]
        ends = [req.device_len for req in batch.padded_reqs]
        host = int_tensor([*rows, *(end - 1 for end in ends), *ends])
        indices = to_device(host, self.device).view(3, -1)
        inputs = decode_inputs(indices[:2], self.engine.page_table)
        batch.lengths, batch.positions, batch.out_loc = inputs[:2], inputs[2], inputs[3]
        row, position, end = indices
        return (row, position), (row[: batch.size], end[: batch.size])

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        """Launch the batch; the token pool passes each sampled token on to the next step, which so need not
        wait until the CPU has seen it.
        """
        batch, sample_args, input_tuple, write_tuple = forward_input
        self._launched.append(batch)
        trace.emit("forward_start", phase=batch.phase, tokens=len(batch.positions))
        batch.input_ids = self.token_pool[input_tuple]
        output = self.engine.forward_batch(batch, sample_args)
        self.token_pool[write_tuple] = output.next_tokens_gpu
        self.decode_manager.filter_reqs(batch.reqs)
        trace.emit("forward_end", phase=batch.phase, tokens=len(batch.positions))
        return output

    def _process_last_data(self, last_data: ForwardData | None) -> None:
        """Hand out the tokens of a batch, end the requests that are done, cache what prefill has computed.

        A request may have ended since the batch was launched: its token here is one too many, and what it
        held is gone already.
        """
        if last_data is None:
            return
        batch, output = last_data[0].batch, last_data[1]
        if output.copy_done_event is not None:
            output.copy_done_event.synchronize()
        self._batch_done()
        reply: list[DetokenizeMsg] = []
        ended: set[Req] = set()
        with self.cache_manager.lazy_free_region():
            next_tokens = output.next_tokens_cpu.split(1)
            for i, (req, token) in enumerate(zip(batch.reqs, output.next_tokens_cpu.tolist(), strict=True)):
                if isinstance(req, ChunkedReq) or req in self.finished_reqs:
                    continue
                if token == NO_TOKEN:
                    ended.add(req)
                    reply.append(self._fail(req))
                    continue
                req.append_host(next_tokens[i])
                reason = finish_reason(req, token, self.eos_token_id)
                reply.append(DetokenizeMsg(req.uid, token, bool(reason), reason, None, *output.logprob_of(i)))
                if reason is not None:
                    ended.add(req)
                    self.decode_manager.remove_req(req)
                    self._free_req_resources(req)
                elif batch.is_prefill and i >= batch.num_decodes:
                    with recorded_cache_req(req, finished=False):
                        self.cache_manager.cache_req(req, finished=False)
        self.finished_reqs = ended
        self.send_result(reply)

    def _batch_done(self) -> None:
        """The oldest batch in flight is done: nothing writes to the rows any more that waited for it."""
        self._launched.popleft()
        for slot in self.deferred_slots:
            self.table_manager.free(slot)
        self.deferred_slots.clear()

    def _fail(self, req: Req) -> DetokenizeMsg:
        """End a request whose logits are no numbers; others must not find what it has computed."""
        self.decode_manager.remove_req(req)
        self.cache_manager.forget_req(req)
        self._free_req_resources(req)
        return error_msg(
            req.uid,
            f"request {req.uid}: the model's logits are not finite numbers; its weights are"
            f" unusable, or too large for {self.engine.dtype}",
        )

    def _free_req_resources(self, req: Req) -> None:
        """Give back what a request holds: pages at once, for whoever writes them next comes after the batch
        in flight; the row only when that batch is done, for rows are written while it runs.
        """
        with recorded_cache_req(req, finished=True):
            self.cache_manager.cache_req(req, finished=True)
        if self.in_flight:
            self.deferred_slots.append(req.table_idx)
        else:
            self.table_manager.free(req.table_idx)


def plan_mixed(
    decode_uids: Sequence[int], prefill: Sequence[tuple[int, int]], token_budget: int
) -> list[tuple[int, int]]:
    """Share the tokens of one step between running requests and prompts.

    Args:
        decode_uids: the running requests; each gets its one token, whatever the budget: nobody pauses.
        prefill: uid and tokens to compute of each waiting prompt, in order. What the running ones leave goes
            to them in this order; the last one gets a part where the budget ends.
        token_budget: tokens that the step should compute at most.

    Returns:
        (uid, tokens) of the running requests in ascending uid, then of the prompts; nobody with 0 tokens.
    """
    plan = [(uid, 1) for uid in sorted(decode_uids)]
    token_budget -= len(plan)
    for uid, remain in prefill:
        if token_budget <= 0:
            break
        tokens = min(remain, token_budget)
        plan.append((uid, tokens))
        token_budget -= tokens
    return plan
