"""The routes below /api/v1."""

from __future__ import annotations

import platform
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from judge.exercises import Exercise
from judge.service import limits, log, schemas
from judge.service.catalog import Catalog
from judge.service.errors import ApiError
from judge.service.headers import SiteHeaders
from judge.service.language import preferred
from judge.service.queue import JudgeQueue
from judge.service.settings import Settings
from judge.service.sse import Streams, progress
from judge.service.store import Store, View
from judge.solution import solution_text

_MOST_ID = 2**62


@dataclass
class Service:
    """What the routes work with; one an application, in `app.state.service`."""

    settings: Settings
    store: Store
    queue: JudgeQueue
    catalog: Catalog
    streams: Streams
    learner: int
    """The one learner of a service without accounts."""
    headers: SiteHeaders


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def current_user(service: Annotated[Service, Depends(service_of)]) -> int:
    """Who asks. Accounts are off: everybody who reaches this machine's loopback is its one learner."""
    return service.learner


Here = Annotated[Service, Depends(service_of)]
User = Annotated[int, Depends(current_user)]
Lang = Annotated[Literal["zh", "en"] | None, Query(description="Language of the words; else Accept-Language")]
Id = Annotated[int, Path(ge=1, le=_MOST_ID)]

_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ErrorOut, "description": text}
    for status, text in {
        403: "Not allowed",
        404: "No such thing, or not yours",
        413: "The source is over the limit",
        422: "Malformed",
        429: "Too often; Retry-After says when",
    }.items()
}
router = APIRouter(prefix="/api/v1", responses=_REFUSALS)


@router.post("/submissions", status_code=201, response_model=schemas.SubmissionOut, tags=["submissions"])
def submit(body: schemas.SubmissionIn, service: Here, user: User, response: Response) -> dict[str, Any]:
    """Hand in code. It is stored before this answers, and gets exactly one result."""
    exercise = _exercise(service, body.exercise)
    try:
        source = body.code.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair: not a character
        raise ApiError(422, "malformed", field="code") from None
    if len(source) > exercise.limits.source_kb * 1024:
        raise ApiError(413, "source_size", limit=exercise.limits.source_kb, size=len(source) // 1024 + 1)
    view, new = service.store.submit(
        user,
        exercise.id,
        exercise.slug,
        source,
        samples_only=body.samples_only,
        key=body.key,
        admit=partial(limits.check, service.settings, samples_only=body.samples_only),
    )
    if new:
        try:
            service.queue.enqueue(view.run_id, first=body.samples_only)
        except sqlite3.Error:  # it is stored, so the reaper will put it in
            log.fault("run.not_enqueued", run=view.run_id)
    else:
        response.status_code = 200
    response.headers["location"] = f"/api/v1/submissions/{view.id}"
    return _full(view, trace=False)


@router.get("/submissions", response_model=schemas.SubmissionList, tags=["submissions"])
def submissions(
    service: Here,
    user: User,
    mine: Annotated[str | None, Query(description="The caller's own; nobody sees any other")] = None,
    exercise: Annotated[int | None, Query(ge=0, le=_MOST_ID)] = None,
    before: Annotated[int | None, Query(ge=1, le=_MOST_ID)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> dict[str, Any]:
    """The caller's submissions, newest first."""
    views = service.store.submissions(user, exercise=exercise, before=before, limit=limit)
    return {
        "submissions": [_brief(view) for view in views],
        "next": views[-1].id if len(views) == limit else None,
    }


@router.get("/submissions/{submission_id}", response_model=schemas.SubmissionOut, tags=["submissions"])
def submission(
    submission_id: Id,
    service: Here,
    user: User,
    trace: Annotated[bool, Query(description="With the trace of the engine run")] = False,
) -> dict[str, Any]:
    """One submission with its result."""
    return _full(_own(service, user, submission_id), trace=trace)


@router.get(
    "/submissions/{submission_id}/events",
    tags=["submissions"],
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/event-stream": {}},
            "description": "Progress",
        }
    },
)
async def events(
    submission_id: Id,
    service: Here,
    user: User,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Progress as server-sent events; Last-Event-ID resumes; ends after the verdict."""
    view = await run_in_threadpool(_own, service, user, submission_id)
    after = _event_id(last_event_id)
    if view.status == "done" and not await run_in_threadpool(service.store.events, submission_id, after):
        return Response(status_code=204)  # the reader has it all; 204 tells a browser not to come back
    if not service.streams.enter():
        raise ApiError(503, "streams", headers={"retry-after": "5"})
    settings = service.settings

    async def body() -> Any:
        try:
            async for part in progress(
                service.store,
                service.streams,
                submission_id,
                after,
                poll_s=settings.stream_poll_s,
                beat_s=settings.stream_beat_s,
            ):
                yield part
        finally:
            service.streams.leave()

    return StreamingResponse(
        body(),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


@router.get("/exercises", response_model=schemas.ExerciseList, tags=["exercises"])
def exercises(service: Here, user: User) -> dict[str, Any]:
    """All exercises, and how the caller stands with each."""
    standing = service.store.standing(user)
    catalog = service.catalog
    return {
        "exercises": [
            catalog.brief(one, standing.get(one.id, "untouched")) for one in catalog.exercises.values()
        ],
        "judge": {
            "python": ".".join(platform.python_version_tuple()[:2]),
            "isolation": service.store.isolation(service.settings.worker_fresh_s),
        },
    }


@router.get("/exercises/{name}", response_model=schemas.ExerciseOut, tags=["exercises"])
def exercise(name: str, service: Here, user: User, request: Request, lang: Lang = None) -> dict[str, Any]:
    """One exercise: statement, rules, samples, hints, starter."""
    found = _exercise(service, name)
    state = service.store.standing(user).get(found.id, "untouched")
    return service.catalog.full(found, state, lang or preferred(request.headers.get("accept-language", "")))


@router.get("/exercises/{name}/solution", response_model=schemas.SolutionOut, tags=["exercises"])
def solution(name: str, service: Here, user: User) -> dict[str, Any]:
    """The reference; only for who has passed."""
    found = _exercise(service, name)
    if service.store.standing(user).get(found.id) != "accepted":
        raise ApiError(403, "not_passed", exercise=found.id)
    return {"id": found.id, "slug": found.slug, "code": solution_text(found)}


@router.api_route("/{_rest:path}", methods=["GET", "POST"], include_in_schema=False)
def nothing(_rest: str) -> JSONResponse:
    """Below /api every answer is JSON, that of a wrong address too."""
    raise ApiError(404, "not_found")


def _exercise(service: Service, name: int | str) -> Exercise:
    found = service.catalog.get(name)
    if found is None:
        raise ApiError(404, "no_exercise", exercise=str(name)[:40])
    return found


def _own(service: Service, user: int, submission_id: int) -> View:
    view = service.store.submission(user, submission_id)
    if view is None:
        raise ApiError(404, "no_submission", submission=submission_id)
    return view


def _event_id(header: str | None) -> int:
    """Last-Event-ID; what is not a number of ours means from the start."""
    if header and header.isascii() and header.isdigit() and len(header) < 19:
        return int(header)
    return 0


def _time(seconds: float | None) -> str | None:
    return (
        None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    )


def _brief(view: View) -> dict[str, Any]:
    return {
        "id": view.id,
        "exercise": view.exercise,
        "slug": view.slug,
        "status": view.status,
        "samples_only": view.samples_only,
        "attempt": view.attempts,
        "created_at": _time(view.created_at),
        "finished_at": _time(view.finished_at),
        "verdict": view.verdict,
        "score": view.score,
    }


def _full(view: View, *, trace: bool) -> dict[str, Any]:
    result = view.result
    if result is not None and not trace:
        result = {name: value for name, value in result.items() if name != "trace"}
    return _brief(view) | {
        "code": view.source.decode("utf-8"),
        "events": f"/api/v1/submissions/{view.id}/events",
        "result": result,
    }
