"""The loop of a box: take an order, carry it out, answer; exit with 0 after ``Finish`` alone."""

from __future__ import annotations

import contextlib
import importlib
import marshal
import os
import random
import sys
from typing import Any, NoReturn

from judge.sandbox import protocol
from judge.sandbox.inside import samples
from judge.sandbox.inside.case_io import CaseIO, CaseOver
from judge.sandbox.inside.channel import Channel, Closed
from judge.sandbox.inside.submission import Unusable, describe, load

ENGINE_PROGRAM = "judge.swap.program"


def main(channel: Channel) -> NoReturn:
    """Serve until the end; never returns, and runs no exit handler: a learner's could hang."""
    session = Session(channel)
    try:
        while session.serve(channel.receive()):
            pass
    except Closed:
        os._exit(3)
    os._exit(0)


class Session:
    """What a box has loaded so far."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._target: Any = None
        self._name = ""
        self._filename = ""
        self._drive: tuple[bytes, Any] = (b"", None)

    def serve(self, order: protocol.ToBox) -> bool:
        """Carry out one order; False once the box is to end."""
        match order:
            case protocol.Load():
                self._load(order)
            case protocol.RunCase():
                self._case(order)
            case protocol.RunSamples():
                self._samples(order)
            case protocol.RunEngine():
                self._engine(order.job)
            case protocol.Finish():
                with contextlib.suppress(Exception):
                    sys.stdout.flush()
                self._channel.send(protocol.End)
                return False
            case _:
                raise Closed
        return True

    def _load(self, order: protocol.Load) -> None:
        seed_all(order.seed)
        self._filename = order.filename
        self._name = order.target
        try:
            self._target = load(order)
        except Unusable as error:
            self._channel.send(protocol.Rejected, error.verdict, error.reason, error.raised)
        else:
            self._channel.send(protocol.Loaded)

    def _case(self, order: protocol.RunCase) -> None:
        case_io = CaseIO(self._channel, self._filename)
        raised = None
        try:
            self._function(order.drive)(self._target, order.data, case_io)
        except (CaseOver, Closed):
            pass
        except BaseException as error:
            raised = describe(error, self._filename)
        self._channel.send(protocol.Done, raised, case_io.notes)

    def _function(self, drive: bytes) -> Any:
        if self._drive[0] != drive:
            namespace: dict[str, Any] = {"__name__": "drive"}
            exec(marshal.loads(drive), namespace)
            self._drive = (drive, namespace["drive"])
        return self._drive[1]

    def _samples(self, order: protocol.RunSamples) -> None:
        notes: list[protocol.Raised] = []
        raised = None
        try:
            prepared = samples.Prepared(marshal.loads(order.code), order.asserts)
            for one in samples.run_prepared(prepared, order.filename, self._target, self._filename):
                self._channel.send(
                    protocol.Sample, one.name, one.ok, one.line, one.assertion, one.expected, one.got,
                    one.message, one.stdout, one.raised_line,
                )  # fmt: skip
        except BaseException as error:
            raised = describe(error, self._filename)
        self._channel.send(protocol.Done, raised, notes)

    def _engine(self, job: Any) -> None:
        def send(event: dict[str, Any]) -> None:
            self._channel.send_value(protocol.Progress, event)

        value, raised = None, None
        functions = {self._name: self._target} if self._target is not None else {}
        try:
            program = importlib.import_module(ENGINE_PROGRAM)
            value = program.run(job, functions, send)
        except BaseException as error:
            raised = describe(error, self._filename)
        self._channel.send_value(protocol.Result, value, raised)


def seed_all(seed: int) -> None:
    """One state for every generator a learner may use, whatever the process did before."""
    random.seed(seed)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        numpy.random.seed(seed % (1 << 32))
    if torch is not None:
        torch.default_generator.manual_seed(seed)  # the CPU's; torch.manual_seed looks for devices, too
