"""A scheduler under overlap, played from a script. It enters the box with the drives that name it.

The scheduler, its queues and its rows are the engine's own; model, cache and clients are stubs with a log.
"""

# What stands for a part of the engine has only what is asked of it here.
# mypy: ignore-errors

from __future__ import annotations

from typing import Any


def overlap_world(case: dict[str, Any], name: str, target: Any, io: Any) -> None:
    """Play the script with ``target`` in place of the scheduler's method ``name``.

    Emits each loop: its log, a list of entries that begin with a word, and which step came back.
    """
    from collections import deque
    from types import SimpleNamespace

    import torch

    from minisgl.core import SamplingParams
    from minisgl.engine import ForwardOutput
    from minisgl.message import AbortBackendMsg, UserMsg
    from minisgl.scheduler.decode import DecodeManager
    from minisgl.scheduler.prefill import PrefillManager
    from minisgl.scheduler.scheduler import ForwardInput, Scheduler
    from minisgl.scheduler.table import TableManager

    log: list[list[Any]] = []
    requests = case["requests"]

    class Block:
        """A region that may be entered again and again; the log shows its ends."""

        def __init__(self, word):
            self.word = word

        def __enter__(self):
            log.append([self.word, True])

        def __exit__(self, *error):
            log.append([self.word, False])

    class Table(TableManager):
        def free(self, slot):
            log.append(["row", slot, slot not in self._free_slots])
            if type(slot) is int and slot not in self._free_slots:
                self._free_slots.append(slot)

    class Cache:
        page_size, available_size = 1, 1 << 20
        nothing = SimpleNamespace(cached_len=0, get_matched_indices=lambda: torch.empty(0, dtype=torch.int32))

        def match_req(self, pending):
            return SimpleNamespace(cuda_handle=self.nothing)

        def lock(self, handle):
            pass

        def cache_req(self, req, *, finished):
            log.append(["cache", req.uid, finished, req.cached_len])

        def forget_req(self, req):
            log.append(["forget", req.uid])

        def lazy_free_region(self):
            return Block("lazy")

    class World(Scheduler):
        def __init__(self):
            width = max(r["prompt"] + r["output"] for r in requests) + 4
            table = torch.zeros((case["rows"] + 1, width), dtype=torch.int32)
            self.config = SimpleNamespace(
                mixed=case["mixed"], admission="worst_case", page_size=1, watermark=0, max_running_req=9
            )
            self.engine = SimpleNamespace(stream=SimpleNamespace(wait_stream=self.waits), dtype="float32")
            self.stream, self.engine_stream_ctx = object(), Block("stream")
            self.table_manager, self.cache_manager = Table(case["rows"], table), Cache()
            self.decode_manager = DecodeManager(1)
            self.prefill_manager = PrefillManager(self.cache_manager, self.table_manager, self.decode_manager)
            self.prefill_budget, self.eos_token_id = case["budget"], case["eos"]
            self.finished_reqs, self.deferred_slots, self._launched = set(), [], deque()
            self.inbox, self.loop, self.steps, self.reqs = [], 0, [], {}
            for msg in self.messages(-1):
                self._add_user_msg(msg)

        def waits(self, stream):
            log.append(["wait", stream is self.stream])

        def receive_msg(self, blocking=False):
            log.append(["receive", blocking])
            return self.messages(self.loop)

        def messages(self, loop):
            found = []
            for uid, one in enumerate(requests):
                if one["arrives"] == loop:
                    params = SamplingParams(max_tokens=one["output"], ignore_eos=one["ignore_eos"])
                    ids = torch.arange(uid, uid + one["prompt"], dtype=torch.int32)
                    found.append(UserMsg(uid, ids, params))
                found += [AbortBackendMsg(uid)] * one["aborted"].count(loop)
            return found

        def _process_one_msg(self, msg):
            log.append(["message", type(msg).__name__, msg.uid])
            super()._process_one_msg(msg)

        def _add_user_msg(self, msg):
            self.prefill_manager.add_one_req(msg)

        def send_result(self, reply):
            log.append(["send", len(reply)])
            for msg in reply:
                shown = [msg.uid, msg.next_token, msg.finished, msg.finish_reason]
                log.append(["reply", *shown, msg.logprob, msg.top_logprobs])

        def _schedule_next_batch(self):
            try:
                step = super()._schedule_next_batch()
            except RuntimeError:
                step = None
                log.append(["stuck"])
            log.append(["schedule", 0 if step is None else len(self.steps)])
            return step

        def _prepare_batch(self, batch):
            self.steps.append([ForwardInput(batch, None, None, None), None])
            return self.steps[-1][0]

        def number(self, data):
            """Of the step that these data belong to; 0 for None, -1 for anything else."""
            if data is None:
                return 0
            for number, (given, output) in enumerate(self.steps, 1):
                if isinstance(data, tuple) and len(data) == 2 and data[0] is given and data[1] is output:
                    return number
            return -1

        def _forward(self, forward_input):
            number = next((n for n, s in enumerate(self.steps, 1) if s[0] is forward_input), 0)
            batch = forward_input.batch
            log.append(["launch", number, batch.phase, [req.uid for req in batch.reqs]])
            self._launched.append(batch)
            tokens = []
            for req in batch.reqs:
                self.reqs[req.uid] = req
                sampled = req.device_len - requests[req.uid]["prompt"]
                tokens.append(requests[req.uid]["tokens"][sampled] if sampled >= 0 else 7)
                req.complete_one()
            self.decode_manager.filter_reqs(batch.reqs)
            found = torch.tensor(tokens, dtype=torch.int32)
            on_cpu, event, logprobs = found, None, None
            if case["late"]:
                on_cpu = torch.full_like(found, 8)  # what is there until the copy is done

                def synchronize():
                    log.append(["synchronize", number])
                    on_cpu.copy_(found)

                event = SimpleNamespace(synchronize=synchronize)
            if case["logprobs"]:
                logprobs = SimpleNamespace(of=lambda i: (-tokens[i] / 8, [[tokens[i], -1.0]]))
            self.steps[number - 1][1] = ForwardOutput(found, on_cpu, event, logprobs)
            return self.steps[number - 1][1]

        def _batch_done(self):
            log.append(["done"])
            super()._batch_done()

        def overlap_loop(self, last_data):
            return theirs("overlap_loop")(self, last_data)

        def _process_last_data(self, last_data):
            if last_data is not None:  # nothing to handle is as good as not to ask
                log.append(["handle", self.number(last_data), uids(self.finished_reqs)])
            theirs("_process_last_data")(self, last_data)
            if last_data is not None:
                log.append(["handled", uids(self.finished_reqs)])

        def _free_req_resources(self, req):
            log.append(["end", req.uid, req.table_idx, self.in_flight])
            theirs("_free_req_resources")(self, req)
            log.append(["ended", list(self.deferred_slots)])

        def _abort_req(self, uid):
            log.append(["abort", uid])
            theirs("_abort_req")(self, uid)
            log.append(["aborted", uids(self.finished_reqs)])

        def show(self):
            running = uids(self.decode_manager.running_reqs)
            rows = [sorted(self.table_manager._free_slots), list(self.deferred_slots)]
            log.append(["now", running, *rows])
            for uid, req in sorted(self.reqs.items()):
                log.append(["text", uid, req.input_ids.tolist()[requests[uid]["prompt"] :]])

    def theirs(method):
        return target if method == name else getattr(Scheduler, method)

    def uids(reqs):
        return sorted((getattr(req, "uid", -1) for req in reqs), key=str)

    world, data = World(), None
    for _ in range(case["before"]):
        step = world._schedule_next_batch()
        world._process_last_data((step, world._forward(step)))
    log.clear()
    last = case["loops"] or 40
    while world.loop < last:
        data = world.overlap_loop(data)
        world.show()
        io.emit([list(log), world.number(data)])
        log.clear()
        world.loop += 1
        waits = any(max([one["arrives"], *one["aborted"]]) >= world.loop for one in requests)
        if not case["loops"] and data is None and not world.is_busy and not waits:
            break
