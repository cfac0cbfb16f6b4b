"""Run the loop once with a submission of our own, so that no box pays for what is only set up once."""

from __future__ import annotations

import linecache
import sys

from judge.sandbox import protocol
from judge.sandbox.inside.channel import Channel
from judge.sandbox.inside.loop import Session
from judge.sandbox.inside.submission import MODULE

_SUBMISSION = b"import torch\n\ndef double(x):\n    return x * 2\n"
_DRIVE = """
def drive(target, case, io):
    io.emit(io.attempt(target, case["x"]))
    io.emit(io.attempt(target))
"""
_FILENAME = "rehearsal.py"


def run() -> None:
    """Load, one case with a result and an exception; what it would send is thrown away."""
    import torch

    session = Session(Channel(lambda count: b"", len))
    parameters = [protocol.Parameter("x")]
    session.serve(protocol.Load(_SUBMISSION, _FILENAME, "double", "function", parameters, [], 0))
    data = protocol.delivered(protocol.packed({"x": torch.arange(4), "y": [1, 2.5, "text", None]}))
    session.serve(protocol.RunCase(protocol.compiled(_DRIVE, "<drive>"), data))
    sys.modules.pop(MODULE, None)
    linecache.cache.pop(_FILENAME, None)
