"""How often a learner may submit, and how much of the queue one learner may hold."""

from __future__ import annotations

import math

from judge.service.errors import ApiError
from judge.service.settings import Settings
from judge.service.store import WINDOW_S, Load


def check(settings: Settings, load: Load, *, samples_only: bool) -> None:
    """Raise ApiError 429 where the learner has to wait; samples only count for the share of the queue."""
    if load.unfinished >= settings.unfinished:
        raise ApiError(429, "queue_share", headers={"retry-after": "2"}, n=load.unfinished)
    if samples_only or len(load.recent) < settings.per_minute:
        return
    wait = max(1, math.ceil(load.recent[-settings.per_minute] + WINDOW_S - load.now))
    raise ApiError(429, "too_often", headers={"retry-after": str(wait)}, n=len(load.recent), seconds=wait)
