"""What the API answers when it refuses: one shape, words in both languages, never a stack trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from judge.i18n import both
from judge.service import log


class ApiError(Exception):
    """A refusal. `code` names the words `service.error_<code>` in the catalogue."""

    def __init__(
        self, status: int, code: str, *, headers: Mapping[str, str] | None = None, **values: object
    ) -> None:
        super().__init__(code)
        self.status, self.code, self.headers = status, code, dict(headers or {})
        self.message = both(f"service.error_{code}", **values)


def error_body(code: str, message: Mapping[str, str]) -> dict[str, Any]:
    """The JSON object of every refusal."""
    return {"error": {"code": code, "message": dict(message)}}


class _Refusal(JSONResponse):
    def render(self, content: Any) -> bytes:
        """A refusal may quote what was sent, and half of a surrogate pair has no UTF-8."""
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def refuse(error: ApiError) -> JSONResponse:
    return _Refusal(error_body(error.code, error.message), error.status, headers=error.headers)


def install(
    app: FastAPI,
    missing_page: Callable[[Request], Response],
    fault_page: Callable[[Request, int], Response],
) -> None:
    """Turn every exception of `app` into such an answer; who looks for a page gets one that says so."""

    async def on_refusal(_request: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)
        return refuse(error)

    async def on_malformed(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        if _wants_page(request):
            return await run_in_threadpool(missing_page, request)
        if any(problem["loc"] == ("path", "lang") for problem in error.errors()):
            return refuse(ApiError(404, "not_found"))
        return refuse(ApiError(422, "malformed", field=_field(error)))

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if _wants_page(request):
            return await run_in_threadpool(missing_page, request)
        if error.status_code == 405:
            return refuse(ApiError(405, "method", headers=error.headers))
        if error.status_code == 404:
            return refuse(ApiError(404, "not_found"))
        return refuse(ApiError(422, "malformed", field="body"))

    async def on_fault(request: Request, error: Exception) -> Response:
        log.fault("request.fault", path=request.url.path[:200])
        # A database that is busy, full or gone may be there again soon.
        status, headers = (503, {"retry-after": "5"}) if isinstance(error, SQLAlchemyError) else (500, {})
        if _wants_page(request):
            return fault_page(request, status)
        return refuse(ApiError(status, "fault", headers=headers))

    app.add_exception_handler(ApiError, on_refusal)
    app.add_exception_handler(RequestValidationError, on_malformed)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(SQLAlchemyError, on_fault)
    app.add_exception_handler(Exception, on_fault)


def _wants_page(request: Request) -> bool:
    """A browser that was sent to an address which is none."""
    accepts = "text/html" in request.headers.get("accept", "")
    return request.method == "GET" and accepts and not request.url.path.startswith("/api/")


def _field(error: RequestValidationError) -> str:
    """The name of the first field that is wrong; never its value, which may be hostile or large."""
    for problem in error.errors():
        names = [str(part) for part in problem["loc"] if part not in ("body", "query", "path")]
        if names and not names[0].isdigit():
            return names[0][:40]
    return "body"
