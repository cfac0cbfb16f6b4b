"""What goes wrong in a started rank: functions for `rank_initializer`, which runs in that process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from minisgl.engine import Engine, engine


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> None:
    raise OSError("no such disk")


def fail_while_loading() -> None:
    def load_weights(*args: Any, **kwargs: Any) -> None:
        raise ValueError("this rank's share is damaged")

    engine.load_weights = load_weights


def die_while_loading() -> None:
    engine.load_weights = lambda *args, **kwargs: die()


def fail_in_step_4() -> None:
    def action() -> None:
        raise ZeroDivisionError("in step 4")

    _in_step(4, action)


def die_in_step_4() -> None:
    _in_step(4, die)


def _in_step(step: int, action: Callable[[], None]) -> None:
    original, steps = Engine.forward_batch, iter(range(1, 1000))

    def forward_batch(self: Engine, *args: Any, **kwargs: Any) -> Any:
        if next(steps) == step:
            action()
        return original(self, *args, **kwargs)

    Engine.forward_batch = forward_batch  # type: ignore[method-assign]
