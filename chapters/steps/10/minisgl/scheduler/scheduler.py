"""One step after another: take messages, choose a batch, run it, hand out its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import torch

from ..core import Batch, ChunkedReq, Req, flat_positions
from ..engine import NO_TOKEN, Engine, ForwardOutput
from ..message import AbortBackendMsg, BaseBackendMsg, DetokenizeMsg, UserMsg
from ..utils import trace
from .cache import CacheManager
from .config import SchedulerConfig
from .decode import DecodeManager
from .io import SchedulerIOMixin
from .prefill import PrefillManager
from .retract import RetractMixin
from .table import TableManager
from .utils import index_tensor, record_batch, recorded_cache_req

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


class Scheduler(SchedulerIOMixin, RetractMixin):
    """Runs an engine for many requests at once."""

    def __init__(self, config: SchedulerConfig) -> None:
        super().__init__()
        self.config = config
        self.engine = Engine(config)
        self.device = self.engine.device
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
        self.prefill_budget = config.max_extend_tokens
        self.eos_token_ids = frozenset(self.engine.model_config.eos_token_ids)
        self.is_shut_down = False

    def check_prompt(self, input_len: int) -> None:
        """ValueError when a prompt of this length could never run; the message names the limit."""
        pool = self.engine.num_pages * self.engine.page_size
        if input_len == 0:
            raise ValueError("the prompt is empty: there is no token to continue")
        if input_len + 1 > pool:
            raise ValueError(
                f"the prompt has {input_len} tokens; with one token of output that is more than the KV pool"
                f" holds: {self.engine.num_pages} pages of {self.engine.page_size} tokens"
            )
        if input_len + 1 > self.engine.max_seq_len:
            raise ValueError(
                f"the prompt has {input_len} tokens; with one token of output that is more than the"
                f" {self.engine.max_seq_len} that a sequence may have (max_seq_len)"
            )

    def normal_loop(self) -> None:
        """One step: the batch is chosen, run and handled before the next one is chosen."""
        blocking = not (self.prefill_manager.runnable or self.decode_manager.runnable)
        for msg in self.receive_msg(blocking=blocking):
            self._process_one_msg(msg)
        forward_input = self._schedule_next_batch()
        if forward_input is not None:
            self._process_last_data((forward_input, self._forward(forward_input)))

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
        self.engine.reset()
        self.inbox.clear()
        self.outbox.clear()
        self.prefill_manager.reset()
        self.decode_manager.reset()
        self.table_manager.reset()
        self.cache_manager.reset()

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
        req = self.prefill_manager.abort_req(uid) or self.decode_manager.abort_req(uid)
        if req is not None:
            self._free_req_resources(req)

    def _schedule_next_batch(self) -> ForwardInput | None:
        batch = self._mixed_batch() if self.config.mixed else self._prefill_or_decode_batch()
        if batch is not None:
            return self._prepare_batch(batch)
        if self.prefill_manager.runnable or self.decode_manager.runnable:
            raise RuntimeError(
                f"nothing was scheduled although {len(self.prefill_manager.pending_list)} requests wait"
                f" and {len(self.decode_manager.running_reqs)} run: no later step could do better"
            )
        return None

    def _prefill_or_decode_batch(self) -> Batch | None:
        """Prefill first: a waiting request costs more latency than a running one that pauses for a step."""
        batch = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        if batch is None:
            self._make_room()
            batch = self.decode_manager.schedule_next_batch()
        return batch

    def _mixed_batch(self) -> Batch | None:
        """All running requests go on; what is left of the budget computes prompts."""
        self._make_room()
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
        self.cache_manager.allocate_paged(batch.reqs)
        rows, positions = flat_positions(batch.padded_reqs)
        input_tuple = (rows.to(self.device), positions.to(self.device, torch.int64))
        batch.positions = positions.to(self.device)
        batch.out_loc = self.engine.page_table[input_tuple]
        self.engine.attn_backend.prepare_metadata(batch)
        # After a chunk comes a token of the prompt: what is sampled there goes to the dummy request's row.
        dummy = self.engine.dummy_req
        targets = [dummy.table_idx if isinstance(req, ChunkedReq) else req.table_idx for req in batch.reqs]
        write_tuple = (
            index_tensor(targets, self.device),
            index_tensor([req.device_len for req in batch.reqs], self.device),
        )
        record_batch(batch, self.engine.page_table)
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
        """Hand out the tokens of a batch, end the requests that are done, cache what prefill has computed."""
        if last_data is None:
            return
        batch, output = last_data[0].batch, last_data[1]
        if output.copy_done_event is not None:
            output.copy_done_event.synchronize()
        reply: list[DetokenizeMsg] = []
        with self.cache_manager.lazy_free_region():
            for i, (req, next_token) in enumerate(
                zip(batch.reqs, output.next_tokens_cpu.split(1), strict=True)
            ):
                if isinstance(req, ChunkedReq):
                    continue
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
                    self._free_req_resources(req)
                elif batch.is_prefill and i >= batch.num_decodes:
                    with recorded_cache_req(req, finished=False):
                        self.cache_manager.cache_req(req, finished=False)
        self.send_result(reply)

    def _is_eos(self, req: Req, token: int) -> bool:
        return token in self.eos_token_ids and not req.sampling_params.ignore_eos

    def _free_req_resources(self, req: Req) -> None:
        with recorded_cache_req(req, finished=True):
            self.cache_manager.cache_req(req, finished=True)
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
