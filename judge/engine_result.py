"""What the engine program answers: decoded strictly, as it comes out of a box, and compared."""

from __future__ import annotations

from typing import Any

import msgspec

from judge.i18n import both
from judge.types import EngineSetup, Text

TOLD = frozenset(
    {
        "swap_place",
        "swap_plan_form",
        "swap_plan_part",
        "swap_plan_nobody",
        "swap_fork",
        "swap_fork_form",
        "swap_tokens",
        "swap_mask",
    }
)


class Malformed(Exception):
    """The box answered something else than the engine program does (verdict PE)."""


class Pages(msgspec.Struct, forbid_unknown_fields=True):
    """First token locations of the free and the cached pages, of ``total`` pages."""

    total: int
    free: list[int]
    cached: list[int]


class ProgramResult(msgspec.Struct, forbid_unknown_fields=True):
    """What judge/swap/program.py returns."""

    tokens: list[list[list[int]]]
    margin: float
    schedule: list[tuple[str, list[int], list[int]]]
    admitted: list[tuple[int, int]]
    evicted: list[int]
    integrity: str
    pages: Pages
    left: tuple[int, int]
    setup: EngineSetup

    def balanced(self, page_size: int) -> bool:
        """Whether every page is free or cached, exactly once, and no row is taken, no prefix locked."""
        owned = sorted([*self.pages.free, *self.pages.cached])
        # `total` is the box's word: no range of it before the length is known
        if self.integrity or self.left != (0, 0) or len(owned) != self.pages.total:
            return False
        return owned == [page * page_size for page in range(len(owned))]

    @property
    def flat_tokens(self) -> list[list[int]]:
        """Token ids request by request; the index is the request's uid."""
        return [tokens for call in self.tokens for tokens in call]


class Told(msgspec.Struct, forbid_unknown_fields=True):
    """The engine cannot do what the function says: a key of the catalogue and the numbers in it."""

    key: str
    values: dict[str, int]

    @property
    def text(self) -> Text:
        return both(f"verdict.{self.key}", **self.values)


class _Stopped(msgspec.Struct, forbid_unknown_fields=True):
    told: Told


def parse_result(value: Any) -> ProgramResult | Told:
    """Raises Malformed."""
    try:
        if isinstance(value, dict) and "told" in value:
            told = msgspec.convert(value, _Stopped).told
            if told.key not in TOLD:
                raise Malformed(told.key)
            told.text  # noqa: B018 - the words need all of their numbers
            return told
        return msgspec.convert(value, ProgramResult)
    except (msgspec.ValidationError, KeyError, TypeError) as error:  # TypeError: a value named "key", say
        raise Malformed(str(error)) from None


def parse_token(event: Any) -> tuple[int, int, int] | None:
    """Call, prompt and token of a ``tokens`` event; None for another event. Raises Malformed."""
    if not isinstance(event, dict) or "tokens" not in event:
        return None
    try:
        return msgspec.convert(event["tokens"], tuple[int, int, int])
    except msgspec.ValidationError as error:
        raise Malformed(str(error)) from None


def parse_trace(event: Any) -> list[dict[str, Any]]:
    """The events of a ``trace`` event, plain data only; none for another event. Raises Malformed."""
    if not isinstance(event, dict) or "trace" not in event:
        return []
    try:
        events: list[dict[str, Any]] = msgspec.json.decode(
            msgspec.json.encode(event["trace"]), type=list[dict[str, Any]]
        )
    except (TypeError, msgspec.MsgspecError) as error:
        raise Malformed(str(error)) from None
    return events


def difference(
    expected: ProgramResult, got: ProgramResult, page_size: int, *, same_pages: bool = False
) -> Text | None:
    """The first thing that differs, as a whole message; None when the run is that of the reference.

    ``same_pages``: which pages are free and cached is compared, too.
    Raises Malformed when the answer is not one to this job.
    """
    return (
        _token_difference(expected, got)
        or _page_difference(got, page_size)
        or _pool_difference(expected, got)
        or _schedule_difference(expected, got)
        or (both("verdict.engine_places") if same_pages and expected.pages != got.pages else None)
    )


def _token_difference(expected: ProgramResult, got: ProgramResult) -> Text | None:
    if [len(call) for call in expected.tokens] != [len(call) for call in got.tokens]:
        raise Malformed("another number of calls or prompts")
    for uid, (due, mine) in enumerate(zip(expected.flat_tokens, got.flat_tokens, strict=True)):
        for position, (one, other) in enumerate(zip(due, mine, strict=False), start=1):
            if one != other:
                return both("verdict.engine_token", position=position, uid=uid)
        if len(due) != len(mine):
            return both("verdict.engine_fewer", uid=uid, got=len(mine), expected=len(due))
    return None


def _pool_difference(expected: ProgramResult, got: ProgramResult) -> Text | None:
    due, seen = expected.pages.total, got.pages.total
    return None if due == seen else both("verdict.engine_pool", expected=due, got=seen)


def _page_difference(got: ProgramResult, page_size: int) -> Text | None:
    if got.balanced(page_size):
        return None
    pages = got.pages
    free, cached = len(pages.free), len(pages.cached)
    if free + cached == pages.total and got.left != (0, 0):
        return both("verdict.engine_left", rows=got.left[0], locked=got.left[1])
    key = "engine_pages" if free + cached != pages.total else "engine_owners"
    return both(f"verdict.{key}", free=free, cached=cached, total=pages.total)


def _schedule_difference(expected: ProgramResult, got: ProgramResult) -> Text | None:
    pairs = zip(expected.schedule, got.schedule, strict=False)
    for step, (one, other) in enumerate(pairs, start=1):
        if one != other:
            return both("verdict.engine_schedule", step=step)
    if len(expected.schedule) != len(got.schedule):
        step = min(len(expected.schedule), len(got.schedule)) + 1
        return both("verdict.engine_schedule", step=step)
    if expected.admitted != got.admitted or expected.evicted != got.evicted:
        return both("verdict.engine_evictions")
    return None
