"""Runs a server: one command, several processes, one address."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import resource
import signal
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import uvicorn

from ..message import BaseFrontendMsg, BaseTokenizerMsg
from ..models import resolve_model
from ..utils.mp import ZmqAsyncPullQueue, ZmqPushQueue
from .api_server import ApiServer
from .args import ServerArgs
from .errors import ApiError
from .frontend import FrontendManager
from .limits import EngineLimits
from .processes import Processes, ProcessFailed

# A client that takes nothing for so long is gone, whatever its system says: its memory is needed.
_UNREAD_MS = 120_000
_UNREAD_BYTES = 2**17  # of an answer that the system keeps; what is beyond is merged, and waits here
_KEEP_ALIVE_S = 60  # that a connection may be idle; clients reuse theirs
_MAX_FILES = 2**16  # a connection is a file, and by default a process may have 1024
_SHUTDOWN_SLACK_S = 2


def launch_server(args: ServerArgs) -> int:
    """Serve until a signal ends it. Returns the exit code: 0, or 1 with the reason on standard error."""
    started = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # until requests are accepted
    _allow_files(_MAX_FILES)
    try:
        args = replace(args, model=resolve_model(str(args.model)), served_model_name=args.model_name)
        sock = _bind(args)
    except (FileNotFoundError, OSError, ValueError) as error:
        return _complain(error)
    processes = Processes(args)
    try:
        limits = processes.wait_ready()
        server = Server(args, processes, limits)
        seconds = time.monotonic() - started
        asyncio.run(
            server.run(sock, f"{args.model_name} is ready at {_url(args, sock)} after {seconds:.1f} s")
        )
        return 0
    except ProcessFailed as error:
        return _complain(error)
    except KeyboardInterrupt:
        return 130
    finally:
        processes.stop()
        sock.close()


class Server:
    """The API server, which runs in the process that the user has started."""

    def __init__(self, args: ServerArgs, processes: Processes, limits: EngineLimits) -> None:
        self.args, self.limits, self.processes = args, limits, processes
        self.failure: ProcessFailed | None = None

    async def run(self, sock: socket.socket, greeting: str) -> None:
        """Accept requests until a signal comes. ProcessFailed when a process has ended by itself."""
        addresses = self.processes.addresses
        recv = ZmqAsyncPullQueue(addresses.of("frontend"), create=True, decoder=BaseFrontendMsg.decoder)
        send = [
            ZmqPushQueue(addresses.of(name), create=False, encoder=BaseTokenizerMsg.encoder)
            for name in self.processes.tokenizers
        ]
        self.frontend = FrontendManager(send, recv, self.limits, self.args.max_queue)
        config = uvicorn.Config(
            ApiServer(self.frontend, self.args).app,
            lifespan="off",
            log_level="warning",
            access_log=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=math.ceil(self.args.shutdown_grace) + _SHUTDOWN_SLACK_S,
        )
        self._uvicorn = _Uvicorn(config)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        self.processes.watch(loop, self._fail)
        listener = loop.create_task(self.frontend.listen())
        listener.add_done_callback(self._listener_ended)
        sock.listen(2048)  # from now on nobody is refused
        print(greeting, flush=True)
        await self._uvicorn.serve(sockets=[sock])
        listener.cancel()
        for queue in send:
            queue.stop()
        recv.stop()
        if self.failure is not None:
            raise self.failure

    def _stop(self) -> None:
        """Accept nothing more. What runs gets a while to end, and at the second signal none."""
        ending = ApiError(503, "the server is shutting down")
        if self.frontend.closing is not None:
            self._cut(ending)
            return
        self.frontend.closing = ending
        self._uvicorn.should_exit = True
        loop = asyncio.get_running_loop()
        loop.call_later(self.args.shutdown_grace, self._cut, ending)
        if self.frontend.num_requests:
            waiting = f"{self.frontend.num_requests} requests get {self.args.shutdown_grace:g} s to end"
            with contextlib.suppress(OSError):  # nobody may be reading this any more
                print(f"shutting down: {waiting}", flush=True)

    def _fail(self, failure: ProcessFailed) -> None:
        """The first failure is told; others follow from it."""
        self.failure = self.failure or failure
        self._uvicorn.should_exit = True
        self._cut(ApiError(503, "the server has failed: a process of it has ended"))

    def _cut(self, reason: ApiError) -> None:
        """Answer all requests with an error. Who does not read even that is cut off a little later."""
        self.frontend.fail_all(reason)
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it would print a traceback for each

    def _listener_ended(self, listener: asyncio.Task[None]) -> None:
        if not listener.cancelled():
            error = listener.exception()
            logging.getLogger(__name__).error("the API server cannot read its messages", exc_info=error)
            self._fail(ProcessFailed(f"the API server cannot read its messages: {error}"))


class _Uvicorn(uvicorn.Server):
    """Leaves signals to us."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _bind(args: ServerArgs) -> socket.socket:
    """The socket to listen at. Bound at once, so that an address in use is known before a model is loaded."""
    family = socket.AF_INET6 if ":" in args.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD_BYTES)  # connections inherit this
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # and this, on Linux
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MS)
    try:
        sock.bind((args.host, args.port))
    except OSError as error:
        sock.close()
        raise OSError(f"cannot listen at {args.host} port {args.port}: {error.strerror or error}") from error
    return sock


def _allow_files(wanted: int) -> None:
    """Let this process open so many files, or as many as it may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))


def _url(args: ServerArgs, sock: socket.socket) -> str:
    host = f"[{args.host}]" if ":" in args.host else args.host
    return f"http://{host}:{sock.getsockname()[1]}"


def _complain(error: BaseException) -> int:
    print(f"minisgl: {error}", file=sys.stderr, flush=True)
    return 1
