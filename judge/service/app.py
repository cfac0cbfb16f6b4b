"""The web application: API, the built site and health, behind the guard."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping

from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse
from sqlalchemy.exc import SQLAlchemyError

from judge.exercises import Exercise
from judge.service import api, errors, pages
from judge.service.catalog import Catalog
from judge.service.guard import AccessLog, Guard
from judge.service.headers import SiteHeaders
from judge.service.queue import JudgeQueue
from judge.service.settings import Settings
from judge.service.sse import Streams
from judge.service.store import Store

_ESCAPED = 6
"""A character of the source takes at most six in JSON (a control character as \\u0000)."""

mimetypes.add_type("font/woff2", ".woff2")
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("text/javascript", ".mjs")
mimetypes.add_type("application/wasm", ".wasm")


def create_app(settings: Settings, store: Store, exercises: Mapping[int, Exercise]) -> FastAPI:
    """The application on a database whose tables are there."""
    app = FastAPI(
        title="minisgl judge",
        version="1",
        description="Hand in a function, follow its judging, read what it did inside the engine.",
        docs_url=None,  # these pages load from another host
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    catalog = Catalog(exercises)
    app.state.service = api.Service(
        settings=settings,
        store=store,
        queue=JudgeQueue(settings.queue_file),
        catalog=catalog,
        streams=Streams(settings.streams),
        learner=store.local_learner(),
        headers=SiteHeaders(settings.site),
    )
    errors.install(app, pages.missing_page, pages.fault_page)
    _add_health(app, store, settings.worker_fresh_s)
    app.include_router(api.router)
    app.include_router(pages.router)  # last: it answers for every address
    app.add_middleware(
        Guard,
        headers=app.state.service.headers,
        host_names=settings.host_names,
        most_bytes=catalog.most_source_kb * 1024 * _ESCAPED + 4096,
        body_s=settings.body_s,
    )
    app.add_middleware(AccessLog)
    return app


def _add_health(app: FastAPI, store: Store, fresh_s: float) -> None:
    @app.get("/healthz", include_in_schema=False)
    def healthz() -> dict[str, bool]:
        """The process answers."""
        return {"ok": True}

    @app.get("/readyz", include_in_schema=False)
    def readyz() -> JSONResponse:
        """The database answers and a worker is alive, so a submission would be judged."""
        try:
            isolation = store.isolation(fresh_s)
        except SQLAlchemyError:
            return JSONResponse({"ok": False, "database": False, "worker": False}, 503)
        alive = isolation is not None
        body = {"ok": alive, "database": True, "worker": alive, "isolation": isolation}
        return JSONResponse(body, 200 if alive else 503)

    @app.get("/metrics", include_in_schema=False)
    def metrics() -> PlainTextResponse:
        """Counts in the text format of Prometheus."""
        lines = ["# TYPE judge_runs gauge", "# TYPE judge_verdicts counter"]
        for name, count in sorted(store.counts().items()):
            kind, _, label = name.partition(":")
            metric = "judge_runs" if kind == "status" else "judge_verdicts"
            lines.append(f'{metric}{{{kind}="{label}"}} {count}')
        return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")
