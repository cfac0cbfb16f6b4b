"""Progress as server-sent events."""

from __future__ import annotations

import dataclasses
from typing import Any

from course import wait_for
from test_api import refused

WHOLE = ["queued", "running", "group", "engine", "token", "token", "token", "engine", "verdict"]


def test_the_whole_way(service: Any) -> None:
    made = service.submit("pass").json()
    events = list(service.events(made["id"]))
    assert [event["event"] for event in events] == WHOLE
    ids = [int(event["id"]) for event in events]
    assert ids == sorted(set(ids))
    assert events[0]["data"] == {"attempt": 1, "place": 1, "again": False}
    assert "".join(event["data"]["text"] for event in events if event["event"] == "token") == " holds tokens."
    assert events[-1]["data"]["result"]["verdict"] == "AC"
    assert "trace" not in events[-1]["data"]["result"]


def test_a_stream_resumes_after_the_last_event(service: Any) -> None:
    made = service.submit("pass").json()
    events = list(service.events(made["id"]))
    again = list(service.events(made["id"], last=int(events[2]["id"])))
    assert again == events[3:]
    last = service.client.get(made["events"], headers={"last-event-id": events[-1]["id"]})
    assert (last.status_code, last.content) == (204, b"")


def test_a_strange_last_event_id_means_from_the_start(service: Any) -> None:
    made = service.submit("pass").json()
    service.result(made["id"])
    for strange in ("", "x", "-1", "9" * 40, "１"):
        headers = {"last-event-id": strange.encode()}
        with service.client.stream("GET", made["events"], headers=headers) as stream:
            assert "event: queued" in "".join(stream.iter_text())


def test_it_is_a_stream(service: Any) -> None:
    """Events arrive while the run goes on, and come from another thread's transactions."""
    made = service.submit("hold").json()
    seen = []
    for event in service.events(made["id"]):
        seen.append(event["event"])
        if seen == ["queued", "running"]:
            (service.folder / "go").touch()
    assert seen == WHOLE


def test_comments_keep_a_quiet_stream_alive(make_service: Any, settings: Any) -> None:
    service = make_service(dataclasses.replace(settings, stream_beat_s=0.05))
    made = service.submit("pass").json()
    with service.client.stream("GET", made["events"]) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for line in stream.iter_lines():
            if line.startswith(":"):
                break
        else:
            raise AssertionError("no comment came")


def test_only_so_many_streams(make_service: Any, settings: Any) -> None:
    service = make_service(dataclasses.replace(settings, streams=1))
    made = service.submit("pass").json()
    with service.client.stream("GET", made["events"]) as stream:
        lines = stream.iter_lines()
        next(lines)
        refused(service.client.get(made["events"]), 503, "streams")
    # The place is free again once the server has noticed that the reader is gone.
    streams = service.server.config.app.state.service.streams
    wait_for(lambda: streams._open == 0, "the stream's place")
    service.start_worker()
    assert [event["event"] for event in service.events(made["id"])] == WHOLE


def test_streams_end_when_the_service_does(make_service: Any, settings: Any) -> None:
    service = make_service(settings)
    made = service.submit("pass").json()
    with service.client.stream("GET", made["events"]) as stream:
        lines = stream.iter_lines()
        next(lines)
        service.server.config.app.state.service.streams.ending = True
        assert all("verdict" not in line for line in lines)
