"""Entry of a box without isolation: start up, wait for the bundle, limit the time, serve."""

from __future__ import annotations

import importlib
import json
import math
import os
import struct
import sys
import time
from typing import Any, NoReturn

from judge.sandbox.importer import MemoryImporter
from judge.sandbox.inside import loop
from judge.sandbox.inside.channel import Channel, Closed

_ROOM_MB = 2048  # of data that Python, torch and the engine may need besides the learner's own


def enter(fd: int, options: dict[str, Any], importer: MemoryImporter) -> NoReturn:
    """Called by the boot code."""
    importlib.import_module("torch").set_num_threads(1)
    os.write(fd, b"r")
    channel = Channel.of_fd(fd)
    try:
        order = json.loads(channel.exactly(struct.unpack("<I", channel.exactly(4))[0]))
    except Closed:
        os._exit(3)
    importer.add(order["sources"], order["packages"])
    _limit(order["cpu_s"], order["memory_mb"])
    sys.argv[:] = ["box"]
    loop.main(channel)


def _limit(cpu_s: float, memory_mb: int | None) -> None:
    import resource

    seconds = math.ceil(time.process_time() + cpu_s) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux" and memory_mb is not None:
        room = (memory_mb + _ROOM_MB) << 20
        resource.setrlimit(resource.RLIMIT_DATA, (room, room))
