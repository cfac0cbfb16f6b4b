"""Requests in, answers out, and noticing when a client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .errors import ApiError
from .formats import DONE, event
from .frontend import FrontendManager
from .job import Job, Reply

# Of a request that is too large so much is read nevertheless: a client that still writes reads no answer.
_DISCARD_FACTOR = 16
# (streamed or not, replies) to the media type and the parts of the body that is made of them
Render: TypeAlias = Callable[[bool, Sequence[Reply]], tuple[str, list[bytes]]]


async def read_body(request: Request, max_bytes: int, timeout: float) -> bytes:
    """A request's body.

    Raises:
        ApiError: it is larger than `max_bytes`, or does not arrive within `timeout` seconds.
        ClientDisconnect: the client has gone.
    """
    too_large = ApiError(413, f"the request is larger than the {max_bytes} bytes that this server takes")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_bytes * _DISCARD_FACTOR:
        raise too_large
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout):
            async for part in request.stream():
                size += len(part)
                if size > max_bytes * _DISCARD_FACTOR:
                    raise too_large
                if size <= max_bytes:
                    parts.append(part)
    except TimeoutError:
        raise ApiError(408, f"the request did not arrive within {timeout:g} seconds") from None
    if size > max_bytes:
        raise too_large
    return b"".join(parts)


def error_response(error: ApiError) -> Response:
    """An error as a whole answer."""
    return Response(msgspec.json.encode(error.body()), error.status, media_type="application/json")


class JobResponse(Response):
    """The answer to a request for generation, written while the engine works.

    When the client goes away before its end, streamed or not, the engine is told to stop.

    Args:
        stream: send each reply as it comes, instead of all of them as one.
        render: makes a body; of a stream, from one reply after the other.
        opening: events that `render` puts in front of a stream's first text.
        usage: makes the event that counts the completion tokens, where the client wants one.
        done: told the status that was answered, 499 when nobody was there for it.
    """

    def __init__(
        self,
        frontend: FrontendManager,
        job: Job,
        *,
        stream: bool,
        render: Render,
        opening: int,
        usage: Callable[[int], bytes] | None,
        done: Callable[[int], None],
    ) -> None:
        self._frontend, self._job, self._stream = frontend, job, stream
        self._render, self._opening, self._usage, self._done = render, opening, usage, done
        self._tokens = 0
        self.status_code = 499
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as an ASGI application."""
        answer = asyncio.ensure_future(self._answer(scope, receive, send))
        gone = asyncio.ensure_future(_client_gone(receive))
        try:
            await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                answer.result()  # raises what it has raised
                self._done(self.status_code)
            else:
                self._done(499)
        finally:
            answer.cancel()
            gone.cancel()
            await asyncio.gather(answer, gone, return_exceptions=True)
            self._frontend.finish(self._job)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            replies = await self._job.take()  # whether there is an error is known before anything is sent
            while not (self._stream or self._job.is_drained):
                replies += await self._job.take()
        except ApiError as error:
            self.status_code = error.status
            await error_response(error)(scope, receive, send)
            return
        self.status_code = 200
        if self._stream:
            await self._send_stream(replies, send)
        else:
            media_type, parts = self._render(False, replies)
            await Response(b"".join(parts), 200, media_type=media_type)(scope, receive, send)

    async def _send_stream(self, replies: list[Reply], send: Send) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-cache"),
            (b"x-accel-buffering", b"no"),  # for a proxy in between
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        opened: set[int] = set()
        try:
            while True:
                body = b"".join(part for reply in replies for part in self._events(reply, opened))
                if self._job.is_drained:
                    break
                await send({"type": "http.response.body", "body": body, "more_body": True})
                replies = await self._job.take()
            if self._usage is not None:
                body += self._usage(self._tokens)
            body += DONE
        except ApiError as error:
            body = event(error.body())
        await send({"type": "http.response.body", "body": body})

    def _events(self, reply: Reply, opened: set[int]) -> list[bytes]:
        """What a reply adds to the stream. Rendered alone it is a whole stream: cut off what opens and what
        ends one, where this is neither the first reply of its choice nor the last.
        """
        _, events = self._render(True, [reply])
        self._tokens += reply["tokens"]
        start = self._opening if reply["index"] in opened else 0
        opened.add(reply["index"])
        return events[start : -2 if reply["finish_reason"] is None else -1]


async def _client_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
