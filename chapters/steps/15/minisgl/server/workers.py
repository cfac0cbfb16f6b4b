"""What the processes of the server run, beside the API server itself."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import connection, parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..message import BaseBackendMsg, BaseFrontendMsg, BaseTokenizerMsg
from ..tokenizer.chat import load_chat_template
from ..tokenizer.detokenize import DetokenizeManager
from ..tokenizer.pieces import TokenPieces
from ..tokenizer.server import detokenize_loop, tokenize_loop
from ..tokenizer.tokenize import TokenizeManager
from ..utils.hf import FastTokenizer, NoTokenizer, Tokenizer, load_tokenizer
from ..utils.mp import ZmqPullQueue, ZmqPushQueue
from .args import ServerArgs
from .backend import ServerScheduler
from .limits import EngineLimits

# Of these a sentence says all: somebody has asked for what cannot be.
_PLAIN_ERRORS = (FileNotFoundError, ImportError, TypeError, ValueError)


@dataclass(frozen=True)
class Addresses:
    """Where the queues are. Whoever receives from one creates it, the others connect before or after that."""

    folder: Path  # that only this user may enter

    def of(self, process: str) -> str:
        """Where a process receives its messages."""
        return f"ipc://{self.folder}/{process}"


@dataclass(frozen=True)
class Report:
    """What a process tells the server: that it takes messages now; or, with an error, that it ends."""

    error: str = ""
    limits: EngineLimits | None = None  # from the scheduler


class Link:
    """A process's connection with the server that has started it."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn

    def ready(self, limits: EngineLimits | None = None) -> None:
        """This process takes messages from now on."""
        self._conn.send(Report(limits=limits))

    def limits(self) -> EngineLimits:
        """What the engine can do; waits until the scheduler has said so."""
        limits: EngineLimits = self._conn.recv()
        return limits

    def fail(self, error: BaseException) -> None:
        """This process ends because of an error."""
        if type(error) in _PLAIN_ERRORS:
            self._conn.send(Report(str(error)))
        else:
            self._conn.send(Report("".join(traceback.format_exception(error)).rstrip()))


def run_worker(
    name: str, main: Callable[..., None], conn: Connection, addresses: Addresses, *args: Any
) -> None:
    """What a process runs: `main(link, addresses, *args)`, until the server ends it or is gone."""
    with contextlib.suppress(OSError):  # Linux: what ps and top call it
        Path("/proc/self/comm").write_text(name)
    threading.Thread(target=_end_with_parent, args=(addresses.folder,), daemon=True).start()
    link = Link(conn)
    try:
        main(link, addresses, *args)
    except BaseException as error:
        link.fail(error)
    os._exit(1)  # at once: there is nothing left to save


def tokenizer_main(link: Link, addresses: Addresses, args: ServerArgs, name: str) -> None:
    """A process that turns prompts into tokens."""
    tokenizer, template = _tokenizer(args), load_chat_template(Path(str(args.model)))
    recv = _pull_tokenizer(addresses.of(name))
    link.ready()
    limits = link.limits()
    tokenize_loop(
        TokenizeManager(tokenizer, template, limits.vocab_size, limits.max_prompt_tokens),
        recv,
        ZmqPushQueue(addresses.of("scheduler"), create=False, encoder=BaseBackendMsg.encoder),
        _push_frontend(addresses),
    )


def detokenizer_main(link: Link, addresses: Addresses, args: ServerArgs) -> None:
    """The process that turns tokens into text."""
    tokenizer = _tokenizer(args)
    pieces = TokenPieces(tokenizer.library) if isinstance(tokenizer, FastTokenizer) else None
    recv = _pull_tokenizer(addresses.of("detokenizer"))
    link.ready()
    detokenize_loop(DetokenizeManager(tokenizer), pieces, recv, _push_frontend(addresses))


def scheduler_main(link: Link, addresses: Addresses, args: ServerArgs) -> None:
    """The process that computes."""
    scheduler = ServerScheduler(
        args,
        _push_frontend(addresses),
        recv_from_tokenizer=ZmqPullQueue(
            addresses.of("scheduler"), create=True, decoder=BaseBackendMsg.decoder
        ),
        send_into_tokenizer=ZmqPushQueue(
            addresses.of("detokenizer"), create=False, encoder=BaseTokenizerMsg.encoder
        ),
    )
    link.ready(EngineLimits.of(scheduler))
    scheduler.run_forever()


def _tokenizer(args: ServerArgs) -> Tokenizer:
    try:
        return load_tokenizer(Path(str(args.model)))
    except FileNotFoundError:
        return NoTokenizer("the model comes without a tokenizer")


def _pull_tokenizer(address: str) -> ZmqPullQueue[BaseTokenizerMsg]:
    return ZmqPullQueue(address, create=True, decoder=BaseTokenizerMsg.decoder)


def _push_frontend(addresses: Addresses) -> ZmqPushQueue[BaseFrontendMsg]:
    return ZmqPushQueue(addresses.of("frontend"), create=False, encoder=BaseFrontendMsg.encoder)


def _end_with_parent(folder: Path) -> None:
    """End this process when the server has ended, even if that had no time to say so."""
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)
