"""How often a learner may submit, and how much of the queue one learner may hold."""

from __future__ import annotations

import math

from judge.service.errors import ApiError
from judge.service.settings import Settings
from judge.service.store import Store

_WINDOW_S = 60.0


def check(settings: Settings, store: Store, user_id: int, *, samples_only: bool) -> None:
    """Raise ApiError 429 where the learner has to wait; samples only count for the share of the queue."""
    waiting = store.unfinished(user_id)
    if waiting >= settings.unfinished:
        raise ApiError(429, "queue_share", headers={"retry-after": "2"}, n=waiting)
    if samples_only:
        return
    now = store.clock()
    recent = store.recent(user_id, now - _WINDOW_S)
    if len(recent) >= settings.per_minute:
        wait = max(1, math.ceil(recent[-settings.per_minute] + _WINDOW_S - now))
        raise ApiError(429, "too_often", headers={"retry-after": str(wait)}, n=len(recent), seconds=wait)
