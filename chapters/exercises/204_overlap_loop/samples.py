from contextlib import nullcontext
from types import SimpleNamespace


class Scheduler:
    """Notes what the loop does. It has `steps` batches to launch, and no messages."""

    def __init__(self, steps):
        self.steps, self.launched, self.notes = steps, 0, []
        self.prefill_manager = SimpleNamespace(runnable=False)
        self.decode_manager = SimpleNamespace(runnable=steps > 0)
        self.stream, self.engine_stream_ctx = "scheduler", nullcontext()
        self.engine = SimpleNamespace(stream=SimpleNamespace(wait_stream=lambda stream: None))

    def receive_msg(self, blocking=False):
        self.notes.append("wait for a message" if blocking else "look for messages")
        return []

    def _schedule_next_batch(self):
        if self.launched == self.steps:
            return None
        return f"batch {self.launched + 1}"

    def _forward(self, forward_input):
        self.launched += 1
        self.decode_manager.runnable = self.launched < self.steps
        self.notes.append(f"launch {self.launched}")
        return f"output {self.launched}"

    def _process_last_data(self, last_data):
        if last_data is not None:
            self.notes.append(f"handle {last_data[1].split()[1]}")


def run(target, steps, calls):
    """What was noted, without the looks for messages; each call gets what the one before returned."""
    scheduler, data = Scheduler(steps), None
    for _ in range(calls):
        data = target(scheduler, data)
    return [note for note in scheduler.notes if note != "look for messages"]


def test_example(target):
    """题目里的例子：3 个 token，调用四次
    The example: 3 tokens, four calls"""
    assert run(target, 3, 4) == ["launch 1", "launch 2", "handle 1", "launch 3", "handle 2", "handle 3"], (
        "每次先启动这一步，再处理上一步。\nEach call launches this step first, then handles the last one."
    )


def test_what_is_returned(target):
    """返回这一步，没有启动就返回 None
    This step is returned, or None without a launch"""
    scheduler = Scheduler(1)
    assert target(scheduler, None) == ("batch 1", "output 1"), (
        "返回 `(forward_input, output)`。\nReturn `(forward_input, output)`."
    )
    assert target(scheduler, ("batch 1", "output 1")) is None, (
        "第二次没有可启动的。\nThe second call has nothing to launch."
    )


def test_the_final_step_is_not_left_alone(target):
    """没有请求了，但还有一步在途
    No request is left, but a step is in flight"""
    assert run(target, 1, 2) == ["launch 1", "handle 1"], (
        "停下来等消息，最后一步就没人处理了。\nIf you wait for a message now, nobody handles the final step."
    )


def test_nothing_to_do(target):
    """没有请求，也没有在途的步：等消息
    No request and no step in flight: wait for a message"""
    assert run(target, 1, 3) == ["launch 1", "handle 1", "wait for a message"], (
        "第三次调用无事可做，应当等消息。\nThe third call has nothing to do and waits for a message."
    )
