"""Hidden tests of 204 `overlap_loop`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.overlap_box import overlap_world
from judge.authoring.overlap_world import Difference, broken_at_first, request, script
from judge.authoring.sentences import NO_RESULT
from judge.jobs import P, default_jobs
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("one", "一个请求", "one request"),
    Group("messages", "中途来消息", "messages on the way"),
    Group("ends", "有批次在途时结束", "an end while a batch is in flight"),
    Group("idle", "没有事做的时候", "nothing to do"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 24 scripts of 7 loops."""
    found: list[Case] = []

    def add(group: str, *requests: dict[str, Any], **more: Any) -> None:
        found.append(Case(group, script(rng, list(requests), loops=7, **more)))

    for output in (1, 2, 3, 4, 9):
        add("one", request(rng, output))
    for _ in range(3):
        several = [request(rng, rng.randrange(1, 5), arrives=rng.randrange(4)) for _ in range(3)]
        add("messages", request(rng, rng.randrange(2, 6)), *several)
        add("messages", request(rng, 5), request(rng, 4, aborted=[rng.randrange(1, 4)]))
    add("messages", request(rng, 3, prompt=5), request(rng, 2, prompt=4, arrives=1), budget=3)
    for eos in (0, 1, 2):
        add("ends", request(rng, 6, eos=eos))
        add("ends", request(rng, 6, eos=eos), request(rng, 3, arrives=eos + 1))
    add("ends", request(rng, 5, aborted=[2]))
    add("one", request(rng, 3, arrives=-1))
    add("messages", request(rng, 2, arrives=-1), request(rng, 2, prompt=4, arrives=-1), budget=3)
    add("one", request(rng, rng.randrange(3, 6), arrives=-1), before=2)
    add("ends", request(rng, 6, arrives=-1, eos=2), before=1)
    add("idle", request(rng, 2, arrives=2))
    add("idle", request(rng, 1), request(rng, 1, arrives=rng.choice((3, 4))))
    add("idle", request(rng, 2), request(rng, 1, arrives=4), request(rng, 1, arrives=6))
    add("idle", request(rng, 1, arrives=9))
    add("idle", request(rng, 3, eos=0), request(rng, 2, arrives=5))
    return found


# --- In the box -----------------------------------------------------------------------------------

DRIVE_USES = [overlap_world]


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """Seven loops: what each asked, launched and handled, in order, and what it returned."""
    overlap_world(case, "overlap_loop", target, io)


# --- Outside again: the checker -----------------------------------------------------------------

_LAUNCH = ("stream", "wait", "launch")


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """What is wrong at the first entry that differs."""
    return broken_at_first(expected, got, _why)


def _why(found: Difference) -> tuple[str, str, int]:
    due, seen = found.words
    if due == seen == "receive":
        return _waits(found)
    if seen == "handle" and (due in ("handle", "back") or found.latest("launch")):
        zh = "处理的不是上一步：交给 `_process_last_data` 的应当是传进来的 `last_data`。"
        en = "The step handled is not the last one: `_process_last_data` gets the `last_data` passed in."
        return zh, en, 4
    if seen == "handle":
        zh = "还没有启动这一步，就处理了上一步：GPU 在等。"
        en = "The last step is handled before this one is launched: the GPU waits."
        return zh, en, 4
    if due == "handle":
        zh = "启动之后没有处理上一步，或者中间又做了别的。"
        en = "After the launch the last step is not handled, or something else is done before."
        return zh, en, 4
    if due == "back" and seen == "back":
        zh = "返回的不是这一步的 `(forward_input, output)`；没有启动时应返回 `None`。"
        en = "What is returned is not this step's `(forward_input, output)`, or `None` without a launch."
        return zh, en, 5
    if due in _LAUNCH or seen in _LAUNCH:
        zh = "启动的次序不对：进入 `engine_stream_ctx`，等 `self.stream`，再 `_forward`。"
        en = "The launch is out of order: enter `engine_stream_ctx`, wait for `self.stream`, then `_forward`."
        return zh, en, 3
    if due in ("receive", "message") or seen in ("receive", "message"):
        zh = "没有收一次消息，并按次序逐条处理。"
        en = "Messages are not received once and processed one by one, in order."
        return zh, en, 1
    if due == "schedule" or seen == "schedule":
        zh, en = "没有恰好选一次批。", "A batch is not chosen exactly once."
        return zh, en, 2
    return NO_RESULT["zh"], NO_RESULT["en"], 4


def _waits(found: Difference) -> tuple[str, str, int]:
    if found.due[1] is True:
        zh = "没有批次在途，也没有请求，却不等消息：循环会空转。"
        en = "No batch is in flight and there is no request, but no message is waited for: the loop spins."
    else:
        zh = "还有批次在途或有请求要算，却停下来等消息。"
        en = "A batch is in flight or a request has work, and yet a message is waited for."
    return zh, en, 1


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """Overlapped: prompts that share a beginning, one a step, so that it shows when each is handled."""
    on = {"overlap": True}
    shared = [P(0, 24) + P(i, 4) for i in range(1, 5)]
    return [
        *default_jobs(**on),
        EngineJob(name="one prompt a step", calls=[shared], max_extend_tokens=28, slots=256, scheduler=on),
    ]


_RIGHT = """\
def overlap_loop(self, last_data):
    idle = not self.prefill_manager.runnable and not self.decode_manager.runnable
    for msg in self.receive_msg(blocking=last_data is None and idle):
        self._process_one_msg(msg)
    forward_input = self._schedule_next_batch()
    ongoing = None
    if forward_input is not None:
        with self.engine_stream_ctx:
            self.engine.stream.wait_stream(self.stream)
            ongoing = forward_input, self._forward(forward_input)
    self._process_last_data(last_data)
    return ongoing
"""
_HANDLE = "    self._process_last_data(last_data)\n"
_WAIT = "            self.engine.stream.wait_stream(self.stream)\n"

MUTANTS = [
    Mutant(
        "a",
        instead(instead(_RIGHT, _HANDLE, ""), "    forward_input =", _HANDLE + "    forward_input ="),
        zh="先处理再启动就没有重叠：GPU 在等。应先启动。",
        en="The last step is handled before this one is launched, and the GPU waits: launch first.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "last_data is None and idle", "idle"),
        zh="还有在途批次，不能阻塞：它的结果会一直等到有新消息。",
        en="A batch is in flight, and its results wait until a new message comes: do not block.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "_process_last_data(last_data)", "_process_last_data(ongoing)"),
        zh="本步结果还没出来，要处理的是上一步。",
        en="This step's result is not there yet: handle the last one.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "last_data is None and idle", "last_data is None"),
        zh="没有批次在途，但还有请求要算，不能停下来等消息。",
        en="No batch is in flight, but requests have work: do not wait for a message.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, _WAIT, ""),
        zh="引擎的流没有等调度器的流：页表和索引可能还没写好，前向就开始读。",
        en="The engine's stream does not wait for the scheduler's, and may read tables not yet written.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, _HANDLE, "").replace(
            "            ongoing = forward_input, self._forward(forward_input)\n",
            "            ongoing = forward_input, self._forward(forward_input)\n    " + _HANDLE,
        ),
        zh="没有新的批次可启动时，上一步的结果也要处理，否则最后一步永远没人收。",
        en="With nothing to launch the last step is to be handled, too, or nobody ever takes the final one.",
    ),
]
