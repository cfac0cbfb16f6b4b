"""OpenAI's HTTP API."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from .args import ServerArgs
from .errors import ApiError
from .formats import (
    DONE,
    SSE,
    chat_logprobs,
    count_usage,
    event,
    join_replies,
    make_text_response,
    text_events,
)
from .frontend import FrontendManager
from .http import JobResponse, Render, error_response, read_body
from .job import Job, Reply
from .metrics import CONTENT_TYPE
from .protocol import BaseRequest, ChatCompletionRequest, CompletionRequest, parse_request


def sse_events(replies: Iterable[Reply], uid: int, model: str, created: int) -> Iterator[bytes]:
    """The events of a streamed chat completion.

    Args:
        replies: one or more, in their order: `{"text", "tokens", "finish_reason"}`, the last one of a choice
            with the reason. With "index" they may be of several choices; "logprobs" where they are wanted.
        created: seconds since 1970.

    Yields:
        a role, the texts, why it ended, for each choice; then `[DONE]`.
    """
    head = {"id": f"chatcmpl-{uid}", "object": "chat.completion.chunk", "created": created, "model": model}
    reasons: dict[int, str | None] = {}  # by choice
    for reply in replies:
        index = reply.get("index", 0)
        if index not in reasons:
            delta = {"role": "assistant", "content": ""}
            yield event({**head, "choices": [{"index": index, "delta": delta, "finish_reason": None}]})
        reasons[index] = reply["finish_reason"]
        if reply["text"] or reply.get("logprobs"):
            delta = {"content": reply["text"]}
            choice = {"index": index, "delta": delta, "finish_reason": None} | chat_logprobs(reply)
            yield event({**head, "choices": [choice]})
    for index, reason in reasons.items():
        yield event({**head, "choices": [{"index": index, "delta": {}, "finish_reason": reason}]})
    yield DONE


def make_response(
    stream: bool, replies: Sequence[Reply], uid: int, model: str, created: int, prompt_tokens: int, sse: SSE
) -> tuple[str, list[bytes]]:
    """A whole chat completion, streamed or not.

    Args:
        sse: makes the events of a stream; the other arguments are those of `sse_events`.

    Returns:
        the media type, and the parts of the body: the events, or one JSON object.
    """
    if stream:
        return "text/event-stream", list(sse(replies, uid, model, created))
    head = {"id": f"chatcmpl-{uid}", "object": "chat.completion", "created": created, "model": model}
    choices = []
    for index, whole in join_replies(replies).items():
        message = {"role": "assistant", "content": whole["text"]}
        choice = {"index": index, "message": message, "finish_reason": whole["finish_reason"]}
        choices.append(choice | chat_logprobs(whole))
    usage = count_usage(prompt_tokens, replies)
    return "application/json", [msgspec.json.encode({**head, "choices": choices, "usage": usage})]


class ApiServer:
    """The routes. `app` is the ASGI application."""

    def __init__(self, frontend: FrontendManager, args: ServerArgs) -> None:
        self.frontend, self.args = frontend, args
        self.started = int(time.time())
        self.app = FastAPI(title="minisgl", docs_url=None, redoc_url=None, openapi_url=None)
        self.app.post("/v1/chat/completions")(self.chat_completions)
        self.app.post("/v1/completions")(self.completions)
        self.app.get("/v1/models")(self.models)
        self.app.get("/v1/models/{name:path}")(self.model)
        self.app.api_route("/health", methods=["GET", "HEAD"])(self.health)  # balancers ask with HEAD, too
        self.app.api_route("/ready", methods=["GET", "HEAD"])(self.ready)
        self.app.get("/metrics")(self.metrics)
        self.app.exception_handler(ApiError)(self._api_error)
        self.app.exception_handler(HTTPException)(self._http_error)
        self.app.exception_handler(ClientDisconnect)(self._client_gone)
        self.app.exception_handler(Exception)(self._unexpected_error)

    async def chat_completions(self, request: Request) -> Response:
        """POST /v1/chat/completions"""
        asked = await self._read(ChatCompletionRequest, request)
        job, created, model = self._submit(asked), int(time.time()), self.args.model_name

        def render(stream: bool, replies: Sequence[Reply]) -> tuple[str, list[bytes]]:
            return make_response(stream, replies, job.uid, model, created, job.prompt_tokens, sse_events)

        head = {"id": f"chatcmpl-{job.uid}", "object": "chat.completion.chunk", "created": created}
        return self._respond(request, asked, job, render, opening=1, head=head)

    async def completions(self, request: Request) -> Response:
        """POST /v1/completions"""
        asked = await self._read(CompletionRequest, request)
        job, created, model = self._submit(asked), int(time.time()), self.args.model_name

        def render(stream: bool, replies: Sequence[Reply]) -> tuple[str, list[bytes]]:
            return make_text_response(
                stream, replies, job.uid, model, created, job.prompt_tokens, text_events
            )

        head = {"id": f"cmpl-{job.uid}", "object": "text_completion", "created": created}
        return self._respond(request, asked, job, render, opening=0, head=head)

    async def models(self) -> dict[str, Any]:
        """GET /v1/models"""
        return {"object": "list", "data": [self._describe_model()]}

    async def model(self, name: str) -> dict[str, Any]:
        """GET /v1/models/NAME"""
        self._check_model(name)
        return self._describe_model()

    async def health(self) -> Response:
        """GET /health: whether the engine lives, and how it stands"""
        stats = self.frontend.metrics.stats
        closing = self.frontend.closing
        body = {
            "status": "ok" if closing is None else closing.message,
            "requests": self.frontend.num_requests,
            "engine": msgspec.to_builtins(stats),
        }
        return JSONResponse(body, 200 if closing is None else 503)

    async def ready(self) -> Response:
        """GET /ready: whether one more request would be taken"""
        ready = self.frontend.has_room(1)
        return JSONResponse({"ready": ready}, 200 if ready else 503)

    async def metrics(self) -> Response:
        """GET /metrics"""
        return Response(self.frontend.metrics.render(), media_type=CONTENT_TYPE)

    async def _read(self, kind: type[BaseRequest], request: Request) -> Any:
        body = await read_body(request, self.args.max_body_bytes, self.args.body_timeout)
        asked = parse_request(kind, body)
        if asked.model is not None:
            self._check_model(asked.model)
        return asked

    def _submit(self, asked: BaseRequest) -> Job:
        params = asked.sampling_params(self.frontend.limits.max_seq_len)
        return self.frontend.submit(asked.prompts(), params)

    def _respond(
        self,
        request: Request,
        asked: BaseRequest,
        job: Job,
        render: Render,
        opening: int,
        head: dict[str, Any],
    ) -> Response:
        def usage(completion_tokens: int) -> bytes:
            counted = count_usage(job.prompt_tokens, [{"tokens": completion_tokens}])
            return event({**head, "model": self.args.model_name, "choices": [], "usage": counted})

        options = asked.stream_options
        return JobResponse(
            self.frontend,
            job,
            stream=asked.stream,
            render=render,
            opening=opening,
            usage=usage if options is not None and options.include_usage else None,
            done=lambda status: self._count(request, status),
        )

    def _check_model(self, name: str) -> None:
        if name != self.args.model_name:
            raise ApiError(
                404,
                f"there is no model {name!r} here, only {self.args.model_name!r}",
                param="model",
                code="model_not_found",
            )

    def _describe_model(self) -> dict[str, Any]:
        return {
            "id": self.args.model_name,
            "object": "model",
            "created": self.started,
            "owned_by": "minisgl",
            "max_model_len": self.frontend.limits.max_seq_len,
        }

    def _count(self, request: Request, status: int) -> None:
        self.frontend.metrics.requests.labels(request.url.path, status).inc()

    async def _api_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)
        if request.method == "POST":
            self._count(request, error.status)
        return error_response(error)

    async def _http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        what = f"{request.method} {request.url.path}"
        return error_response(ApiError(error.status_code, f"{what}: {error.detail}"))

    async def _client_gone(self, request: Request, error: Exception) -> Response:
        self._count(request, 499)
        return Response(status_code=499)  # to nobody

    async def _unexpected_error(self, request: Request, error: Exception) -> Response:
        return error_response(ApiError(500, "the server has made a mistake; its log says more"))
