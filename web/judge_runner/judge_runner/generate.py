"""The engine in the tab: text as it is generated, trace, pages, and a comparison with the reference."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

from judge.chat import chat_of
from judge.i18n import both
from judge.swap import SwapSpec, program
from judge.swap.one_file import SLUGS
from judge.swap.whole import install_all, together
from judge_runner import errors, submission
from judge_runner.ending import told_in
from judge_runner.output import Output, printing_to
from minisgl.models import resolve_model
from minisgl.models.locate import BUNDLED
from minisgl.utils import cdiv, trace
from minisgl.utils.hf import Tokenizer, load_tokenizer

PAGE = 4
_LEAST_PAGES = 64
_MOST_PAGES = 512
_MAX_LEN = 512
_A_CALL = 2
"""Prompts of a generate call, as in the judge: later calls find what they share with earlier ones."""

_NOWHERE = {"slug": "", "place": "none", "target": "", "members": []}

Emit = Callable[[str, Any], None]


def run(args: dict[str, Any], emit: Emit) -> dict[str, Any]:
    """``GenerateReport`` of runner/types.ts; tokens are emitted as they come."""
    run = _Run(args, emit)
    output = Output(lambda text: emit("output", text))
    report = run.report
    try:
        with told_in(report, output), printing_to(output):
            run.go()
    except submission.CannotRun as error:
        report["cannot"] = error.told
    except Exception as error:
        report["error"] = run.told(error)
    run.end()
    return report


class _Run:
    """One request: its job for the engine program, and the report as it fills."""

    def __init__(self, args: dict[str, Any], emit: Emit) -> None:
        self._args, self._emit = args, emit
        self._exercise = args.get("exercise") or None
        self._functions: dict[str, Any] = {}
        self._loaded: list[tuple[SwapSpec, Any]] = []
        self._several = _together(args.get("functions") or [])
        self._ids: list[list[int]] = [[] for _ in args["prompts"]]
        self._sent = [""] * len(self._ids)
        self._cached: dict[int, int] = {}
        self._trace: list[dict[str, Any]] = []
        self._start = self._last = time.perf_counter()
        self.report: dict[str, Any] = {
            "pages": None, "tokensEqual": None, "stopped": None, "cannot": None, "error": None,
            "used": [],
        }  # fmt: skip

    def go(self) -> None:
        """Run the engine with the learner's function if there is one, then the reference to compare with."""
        if self._exercise and self._args.get("code") is not None:
            target = submission.load(self._args["code"], self._exercise, self._begun)
            self._functions = {SwapSpec.of(self._exercise).name: target}
        else:
            self._begun()
        self._loaded = [(spec, _load_one(each, self._begun)) for spec, each in self._several.items()]
        job = self._job()
        self._start = self._last = time.perf_counter()
        with install_all(self._loaded):
            result = program.run(job, self._functions, self._take)
        self.report["used"] = [each["exercise"]["id"] for each in self._several.values()]
        if "told" in result:
            told = result["told"]
            words = both(f"verdict.{told['key']}", **told["values"])
            self.report["error"] = {"line": None, "message": both("runner.engine_told", text=words)}
            return
        if result["pages"]["total"]:
            self.report["pages"] = _pages(result["pages"])
        if self._functions or self._loaded:
            self.report["tokensEqual"] = result["tokens"] == _reference_tokens(job)

    def told(self, error: Exception) -> dict[str, Any]:
        """What a function raised; one of several is named."""
        told = errors.told(error)
        frame = errors.frame_in(error.__traceback__)
        for spec, target in self._loaded:
            if frame and _globals(target) is frame[0].f_globals:
                told["message"] = _one_of_several(spec.target, told["message"])
        return told

    def end(self) -> None:
        """Fill in what is there, however the run ended."""
        tokens = sum(map(len, self._ids))
        seconds = self._last - self._start
        reasons = {e["req"]: e["reason"] for e in self._trace if e["type"] == "finished"}
        self.report |= {
            "texts": [_decode(ids) for ids in self._ids],
            "tokens": self._ids,
            "cached": [self._cached.get(index, 0) for index in range(len(self._ids))],
            "finish": [_reason(reasons.get(uid)) for uid in range(len(self._ids))],
            "seconds": seconds,
            "tokensPerSecond": tokens / seconds if seconds else 0.0,
            "trace": self._trace if self._args.get("trace", True) else [],
        }

    def _begun(self) -> None:
        self._emit("begun", None)

    def _job(self) -> dict[str, Any]:
        asked = self._args
        tokenizer = _tokenizer()
        texts = [chat_of(text) if asked.get("chat") else text for text in asked["prompts"]]
        ids = [tokenizer.encode(text) for text in texts]
        most = asked["maxTokens"]
        pages = sum(cdiv(len(prompt) + most, PAGE) for prompt in ids)
        sampling: dict[str, Any] = {"max_tokens": most, "temperature": asked.get("temperature") or 0.0}
        if asked.get("seed") is not None:
            sampling["seed"] = asked["seed"]
        return {
            "exercise": self._exercise or _NOWHERE,
            "model": {"name": BUNDLED},
            "calls": [ids[start : start + _A_CALL] for start in range(0, len(ids), _A_CALL)],
            "sampling": sampling,
            "dtype": "float32",
            "settings": {
                "page_size": PAGE,
                "num_page_override": min(_MOST_PAGES, max(_LEAST_PAGES, pages)),
                "max_running_req": 4,
                "max_seq_len_override": _MAX_LEN,
                "device": "cpu",
                **settings_for(self._exercise),
                **{
                    k: v for each in self._several.values() for k, v in settings_for(each["exercise"]).items()
                },
            },
            "trace": True,
            "margins": False,
        }

    def _take(self, event: dict[str, Any]) -> None:
        if "trace" in event:
            self._trace += event["trace"]
            return
        call, place, token = event["tokens"]
        index = call * _A_CALL + place
        self._last = time.perf_counter()
        self._ids[index].append(token)
        if index not in self._cached:
            self._cached[index] = _cached_tokens(index)
        # a character may be split over tokens: its beginning waits for the rest
        text = _decode(self._ids[index]).rstrip("\ufffd")
        new, self._sent[index] = text[len(self._sent[index]) :], text
        self._emit("token", {"index": index, "text": new, "token": token, "cached": self._cached[index]})


def _together(asked: list[dict[str, Any]]) -> dict[SwapSpec, dict[str, Any]]:
    """Of the functions that are asked for those that can be in the engine in company, by exercise."""
    given = {
        SwapSpec.of(each["exercise"]): each for each in sorted(asked, key=lambda each: each["exercise"]["id"])
    }
    return {spec: given[spec] for spec in together(given)}


def _load_one(one: dict[str, Any], begun: Callable[[], None]) -> Any:
    """The function, or why it cannot be loaded, with its name: one of several."""
    try:
        return submission.load(one["code"], one["exercise"], begun)
    except submission.CannotRun as error:
        error.told["message"] = _one_of_several(one["exercise"]["target"], error.told["message"])
        raise


def _one_of_several(target: str, text: object) -> dict[str, str]:
    return both("runner.one_of_several", name=target.rpartition(":")[2], text=text)


def _globals(target: Any) -> dict[str, Any] | None:
    """Of the learner's module in which the function, or the class with its methods, was defined."""
    functions = vars(target).values() if isinstance(target, type) else [target]
    return next((each.__globals__ for each in functions if isinstance(each, FunctionType)), None)


def settings_for(exercise: dict[str, Any] | None) -> dict[str, Any]:
    """How the scheduler is set, so that it asks the exercise's function at all."""
    return {"cache_type": "radix", **_SETTINGS.get(exercise["slug"] if exercise else "", {})}


_OVERLAP = {"overlap": True}
_SETTINGS: dict[str, dict[str, Any]] = {
    "continuous_step": {"cache_type": "naive"},  # see its adapter
    "plan_mixed": {"mixed": True},
    "retract_to_fit": {"admission": "optimistic", "watermark": 1},
    "lpm_order": {"policy": "lpm", "lpm_bound": 30},
    "overlap_loop": _OVERLAP,
    "overlap_finish": _OVERLAP,
    "slot_reuse": _OVERLAP,
    "abort_in_flight": _OVERLAP,
}


def _cached_tokens(uid: int) -> int:
    """What a running request was given from the prefix cache; requests are counted as the prompts are."""
    recorder = trace.active()
    admitted = recorder.of_type("admitted") if recorder is not None else []
    return next((event["cached_len"] for event in reversed(admitted) if event["req"] == uid), 0)


@lru_cache(maxsize=1)
def _tokenizer() -> Tokenizer:
    return load_tokenizer(resolve_model(BUNDLED))


def _decode(ids: list[int]) -> str:
    return _tokenizer().decode(ids) if ids else ""


def _reason(said: str | None) -> str:
    return said if said in ("stop", "length") else "abort"


_known: dict[str, list[list[list[int]]]] = {}


def _reference_tokens(job: dict[str, Any]) -> list[list[list[int]]]:
    """What the engine's own function gives; asked again, it is not computed again."""
    key = repr((job["exercise"]["slug"] in SLUGS, job["calls"], job["sampling"], job["settings"]))
    if key not in _known:
        plain = {**job, "trace": False}
        _known[key] = program.run(plain, {}, lambda event: None)["tokens"]
    return _known[key]


def _pages(pages: dict[str, Any]) -> dict[str, int]:
    owned = {*pages["free"], *pages["cached"]}
    return {
        "free": len(pages["free"]),
        "cached": len(pages["cached"]),
        "total": pages["total"],
        "leaked": pages["total"] - len(owned),
    }
