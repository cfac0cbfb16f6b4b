"""Progress as server-sent events, read from the events table: any process may write them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool

from judge.service.reading import EventRow, Reader


class Streams:
    """Open streams: how many there are, and whether the service is going down."""

    def __init__(self, most: int) -> None:
        self._most, self._open = most, 0
        self.ending = False

    def enter(self) -> bool:
        """Take a place; False when all are taken."""
        if self._open >= self._most:
            return False
        self._open += 1
        return True

    def leave(self) -> None:
        self._open -= 1


def frame(event: EventRow) -> str:
    """One event on the wire. JSON has no raw line break, so one data line holds it."""
    return f"id: {event.id}\nevent: {event.type}\ndata: {json.dumps(event.data, ensure_ascii=False)}\n\n"


async def progress(
    store: Reader,
    streams: Streams,
    submission_id: int,
    after: int,
    *,
    poll_s: float,
    beat_s: float,
) -> AsyncIterator[str]:
    """Events after id `after`, to the verdict; a comment when nothing happens for `beat_s`."""
    clock = asyncio.get_running_loop().time
    last = clock()
    yield "retry: 1000\n\n"
    while not streams.ending:
        events = await run_in_threadpool(store.events, submission_id, after)
        for event in events:
            yield frame(event)
            after = event.id
            if event.type == "verdict":
                return
        if events:
            last = clock()
        elif clock() - last >= beat_s:
            yield ": still here\n\n"
            last = clock()
        await asyncio.sleep(poll_s)
