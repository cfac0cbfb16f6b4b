"""Exercise 188: the scheduler carries out the plan of ``continuous_step``, each plan in at most two forwards.

It needs the naive cache, a pool that holds all requests, and a token budget of at least all prompts together:
then every prompt is computed at once and nothing has to be reserved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from judge.swap.install import SwapError, replaced
from minisgl.core import Batch, Req
from minisgl.scheduler import ForwardInput
from minisgl.utils import cdiv

if TYPE_CHECKING:
    from minisgl.llm import LLM

Plan = dict[int, int]  # uid -> tokens that the request computes in this step, in the plan's order


@contextmanager
def drive(llm: LLM, continuous_step: Callable[..., dict[str, Any]]) -> Iterator[None]:
    """Take each step's plan from the function; the engine's own order of prefill and decode is off."""
    steps = _Steps(llm, continuous_step)
    with ExitStack() as stack:
        stack.enter_context(replaced(llm, "_schedule_next_batch", steps.next_batch))
        stack.enter_context(replaced(llm, "_free_req_resources", steps.finish))
        yield


class _Steps:
    """What is left of the current plan, and which requests have finished since it was made."""

    def __init__(self, llm: LLM, continuous_step: Callable[..., dict[str, Any]]) -> None:
        self._llm = llm
        self._step = continuous_step
        self._free_req_resources = llm._free_req_resources
        self._page_size = llm.cache_manager.page_size
        self._finished: list[dict[str, Any]] = []
        self._decodes: list[Req] = []

    def next_batch(self) -> ForwardInput | None:
        """The plan's prompts first, then its decodes; a new plan when both are done."""
        if not self._decodes:
            plan = self._next_plan()
            if plan is None:
                return None
            running = {req.uid: req for req in self._running()}
            self._decodes = [running[uid] for uid, tokens in plan.items() if tokens and uid in running]
            prefill = self._prefill(plan)
            if prefill is not None:
                return self._llm._prepare_batch(prefill)
        batch, self._decodes = Batch(self._decodes, "decode"), []
        return self._llm._prepare_batch(batch)

    def finish(self, req: Req) -> None:
        """The engine frees the pages; the next plan is told, so that it releases them, too."""
        record = self._record(req.uid, req.cached_len, req.cached_len, req.cached_len)
        self._finished.append({**record, "finished": True})
        self._free_req_resources(req)

    def _next_plan(self) -> Plan | None:
        waiting = self._llm.prefill_manager.pending_list
        live = [self._record(r.uid, r.cached_len, r.device_len, r.cached_len) for r in self._running()]
        live += [self._record(r.uid, 0, r.input_len, 0) for r in waiting]
        requests, self._finished = self._finished + live, []
        if not live:
            return None
        released = sum(request["blocks"] for request in requests if "finished" in request)
        free_blocks = len(self._llm.cache_manager.free_slots) - released
        due = {request["id"]: request["target"] - request["computed"] for request in live}
        answer = self._step(requests, free_blocks, self._llm.prefill_budget, self._page_size)
        return _checked(answer, due)

    def _record(self, uid: int, computed: int, target: int, held: int) -> dict[str, Any]:
        return {"id": uid, "computed": computed, "target": target, "blocks": cdiv(held, self._page_size)}

    def _running(self) -> list[Req]:
        return sorted(self._llm.decode_manager.running_reqs, key=lambda req: req.uid)

    def _prefill(self, plan: Plan) -> Batch | None:
        """Admit exactly the planned prompts, through the engine's own admission."""
        manager = self._llm.prefill_manager
        waiting = manager.pending_list
        by_uid = {req.uid: req for req in waiting}
        planned = [by_uid[uid] for uid, tokens in plan.items() if tokens and uid in by_uid]
        manager.pending_list = planned
        batch = manager.schedule_next_batch(self._llm.prefill_budget)
        manager.pending_list = [req for req in waiting if not plan.get(req.uid)]
        if (batch.size if batch else 0) != len(planned):
            raise RuntimeError("the pool of this job does not hold all of its requests")
        return batch


def _checked(answer: dict[str, Any], due: Plan) -> Plan:
    """The plan by uid, once it is sure that the engine can carry it out."""
    try:
        plan = {request["id"]: request["scheduled"] for request in answer["requests"]}
    except (TypeError, KeyError):
        raise SwapError("swap_plan_form") from None
    if plan.keys() != due.keys() or any(type(tokens) is not int for tokens in plan.values()):
        raise SwapError("swap_plan_form")
    for uid, tokens in plan.items():
        if tokens not in (0, due[uid]):
            raise SwapError("swap_plan_part", uid=uid, got=tokens, due=due[uid])
    if not any(plan.values()):
        raise SwapError("swap_plan_nobody")
    return plan
