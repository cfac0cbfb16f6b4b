"""What every request passes before the application sees it, as plain ASGI.

A judge on localhost is reachable by every page that the learner's browser shows. Three checks keep those out:
the Host header must be ours, so that no page can rebind its own name to this machine; a request that changes
anything must come from our own pages, or from no page at all; and answers forbid to be framed elsewhere.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from judge.service import log
from judge.service.errors import ApiError, refuse
from judge.service.headers import SiteHeaders

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_DRAINED_BYTES = 16 * 2**20
_DRAINED_S = 5.0
"""So much of a body that is too large is read and thrown away: who still sends does not read the answer."""
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


class Guard:
    """Host, origin, body size and security headers, in this order."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        headers: SiteHeaders,
        host_names: frozenset[str],
        most_bytes: int,
        body_s: float,
    ) -> None:
        self._app, self._headers, self._host_names = app, headers, host_names
        self._most_bytes, self._body_s = most_bytes, body_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = _with_headers(self._headers.of(scope["path"]), send)
        try:
            self._check(scope, headers)
            if scope["method"] not in _SAFE_METHODS:
                receive = _replayed(await self._body(receive), receive)
            elif scope["method"] == "HEAD" and not scope["path"].endswith("/events"):
                scope = {**scope, "method": "GET"}  # the server sends the head of the answer alone
            await self._app(scope, receive, answer)
        except ApiError as error:
            log.event("request.refused", path=scope["path"][:200], code=error.code)
            if error.status == 413:
                await _drain(receive)
            await refuse(error)(scope, receive, answer)

    def _check(self, scope: Scope, headers: Headers) -> None:
        if _host_name(headers.get("host", "")) not in self._host_names:
            raise ApiError(421, "host")
        if scope["method"] in _SAFE_METHODS:
            return
        # A header that is sent twice counts with all its values.
        host = headers.get("host", "").lower()
        if not {"same-origin", "none"}.issuperset(headers.getlist("sec-fetch-site")):
            raise ApiError(403, "origin")
        if not {f"http://{host}", f"https://{host}"}.issuperset(
            origin.lower() for origin in headers.getlist("origin")
        ):
            raise ApiError(403, "origin")
        types = [kind.partition(";")[0].strip().lower() for kind in headers.getlist("content-type")]
        if types != ["application/json"]:
            raise ApiError(415, "content_type")
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:20]) > self._most_bytes:
            raise self._too_large()

    def _too_large(self) -> ApiError:
        # What follows on this connection is the rest of the body, so the connection cannot be used again.
        return ApiError(413, "body_size", headers={"connection": "close"}, limit=self._most_bytes // 1024)

    async def _body(self, receive: Receive) -> bytes:
        """The whole body, counted as it arrives (a length may be left out) and not waited for without end."""
        parts: list[bytes] = []
        seen = 0
        try:
            async with asyncio.timeout(self._body_s):
                while True:
                    message = await receive()
                    parts.append(message.get("body", b""))
                    seen += len(parts[-1])
                    if seen > self._most_bytes:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise ApiError(408, "slow", headers={"connection": "close"}) from None


async def _drain(receive: Receive) -> None:
    """Read on for a while: closing on a client that sends would break its connection before the answer."""
    seen = 0
    try:
        async with asyncio.timeout(_DRAINED_S):
            while seen < _DRAINED_BYTES:
                message = await receive()
                seen += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        return


def _replayed(body: bytes, receive: Receive) -> Receive:
    """`receive` for the application: the body at once, then whatever the connection says."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def _host_name(host: str) -> str:
    """The name in a Host header without its port; empty when it is none."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


def _with_headers(own: dict[str, str], send: Send) -> Callable[[Message], Awaitable[None]]:
    request_id = uuid.uuid4().hex[:12]

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            for name, value in own.items():
                headers.setdefault(name, value)
            headers.setdefault("x-request-id", request_id)
            message["headers"] = headers.raw
        await send(message)

    return answer


class AccessLog:
    """One log line a request: method, path, status, milliseconds. Never a body or a header."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        clock = asyncio.get_running_loop().time
        began, status = clock(), 0

        async def noted(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            if not scope["path"].startswith(("/assets/", "/healthz", "/readyz")):
                took = round((clock() - began) * 1000, 1)
                log.event("request", method=scope["method"], path=scope["path"][:200], status=status, ms=took)
