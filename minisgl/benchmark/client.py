"""Sends requests to a server of OpenAI's API at a chosen rate, and says how fast the answers came."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx


def latency_stats(records: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """What clients have waited for, in seconds.

    Args:
        records: of each answer `sent`, when it was asked for, and of its chunks the `times` when they came
            and their `tokens`.

    Returns:
        the 50th and 99th percentile (nearest rank; None of nothing) of `ttft`, from sending to the first
        chunk; of `tpot`, for answers with several chunks, seconds a token after the first chunk; of `itl`,
        between one chunk and the next, of all answers;
        and `output_tokens_per_s`, all tokens by the time from the first sending to the last chunk.
    """
    answered = [record for record in records if record["times"]]
    ttft = [record["times"][0] - record["sent"] for record in answered]
    tpot = [
        (record["times"][-1] - record["times"][0]) / sum(record["tokens"][1:])
        for record in answered
        if sum(record["tokens"][1:])  # what came with the first chunk took no time of its own
    ]
    itl = [
        later - earlier
        for record in answered
        for earlier, later in zip(record["times"], record["times"][1:], strict=False)
    ]
    stats: dict[str, float | None] = {}
    for name, values in (("ttft", ttft), ("tpot", tpot), ("itl", itl)):
        for percent in (50, 99):
            stats[f"{name}_p{percent}"] = percentile(values, percent)
    stats["output_tokens_per_s"] = None
    if answered:
        start = min(record["sent"] for record in records)
        seconds = max(record["times"][-1] for record in answered) - start
        stats["output_tokens_per_s"] = sum(sum(record["tokens"]) for record in answered) / seconds
    return stats


def percentile(values: Sequence[float], percent: int) -> float | None:
    """The smallest value that at least so many percent of all do not exceed; None of no values."""
    if not values:
        return None
    rank = -(-percent * len(values) // 100)  # rounded up
    return sorted(values)[rank - 1]


@dataclass
class Workload:
    """Which requests are sent, and when; the same for the same seed.

    Raises:
        ValueError: a setting is out of its range.
    """

    num_requests: int = 64
    concurrency: int | None = 16  # most requests at the same time; None: no limit
    request_rate: float | None = None  # a second on average, with random gaps; None: as soon as one may
    input_len: tuple[int, int] = (100, 400)  # tokens, from ... to
    output_len: tuple[int, int] = (32, 128)
    shared_prefix: int = 0  # tokens that all prompts begin with
    max_token_id: int = 6000
    temperature: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.num_requests < 1 or (self.concurrency is not None and self.concurrency < 1):
            raise ValueError("there must be at least 1 request, and 1 at a time")
        if self.request_rate is not None and not self.request_rate > 0:
            raise ValueError(f"the request rate must be above 0, not {self.request_rate}")
        for name in ("input_len", "output_len"):
            low, high = getattr(self, name)
            if not 1 <= low <= high:
                raise ValueError(
                    f"{name} must be from at least 1 token to at least as many, not {low} to {high}"
                )
        if self.shared_prefix < 0 or self.max_token_id < 1:
            raise ValueError(
                "the shared prefix must have at least 0 tokens, and the largest id be at least 1"
            )

    def requests(self) -> list[dict[str, Any]]:
        """The bodies for /v1/completions."""
        chance = random.Random(self.seed)
        prefix = [chance.randint(0, self.max_token_id) for _ in range(self.shared_prefix)]
        return [
            {
                "prompt": prefix
                + [chance.randint(0, self.max_token_id) for _ in range(chance.randint(*self.input_len))],
                "max_tokens": chance.randint(*self.output_len),
                "temperature": self.temperature,
                "ignore_eos": True,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
            for _ in range(self.num_requests)
        ]

    def gaps(self) -> list[float]:
        """Seconds between one request and the next, as of clients who know nothing of each other."""
        chance = random.Random(self.seed + 1)
        rate = self.request_rate
        return [0.0 if rate is None else chance.expovariate(rate) for _ in range(self.num_requests)]


@dataclass
class Result:
    """What came of a workload."""

    records: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    prompt_tokens: int = 0
    seconds: float = 0.0

    def summary(self) -> dict[str, Any]:
        """All figures, as one JSON object."""
        return {
            "requests": len(self.records),
            "errors": len(self.errors),
            "seconds": self.seconds,
            "requests_per_s": len(self.records) / self.seconds,
            "prompt_tokens": self.prompt_tokens,
            "output_tokens": sum(sum(record["tokens"]) for record in self.records),
            **latency_stats(self.records),
        }


async def run_workload(
    base_url: str,
    workload: Workload,
    *,
    model: str | None = None,
    on_done: Callable[[int], None] | None = None,
    timeout: float = 600.0,
) -> Result:
    """Send all requests and wait for the answers.

    Args:
        base_url: such as `http://127.0.0.1:1919`.
        model: None: whatever the server serves.
        on_done: told how many answers have come, after each.
        timeout: seconds that a chunk may take.
    """
    result, gate = Result(), asyncio.Semaphore(workload.concurrency or workload.num_requests)
    async with httpx.AsyncClient(
        base_url=base_url.rstrip("/"), timeout=timeout, limits=httpx.Limits(max_connections=None)
    ) as client:

        async def one(body: dict[str, Any]) -> None:
            try:
                record = await stream_one(client, body)
                result.prompt_tokens += record.pop("prompt_tokens")
                result.records.append(record)
            except (httpx.HTTPError, ValueError) as error:
                result.errors.append(str(error) or type(error).__name__)
            finally:
                gate.release()
                if on_done is not None:
                    on_done(len(result.records) + len(result.errors))

        started, tasks = time.perf_counter(), []
        for body, gap in zip(workload.requests(), workload.gaps(), strict=True):
            await asyncio.sleep(gap)
            await gate.acquire()
            tasks.append(asyncio.create_task(one(body if model is None else body | {"model": model})))
        await asyncio.gather(*tasks)
        result.seconds = time.perf_counter() - started
    return result


async def stream_one(client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    """Send one request. Returns its record for `latency_stats`, and `prompt_tokens`.

    Raises:
        httpx.HTTPError: the server is not there, or breaks off.
        ValueError: it answers with an error.
    """
    times: list[float] = []
    usage: dict[str, int] = {}
    sent = time.perf_counter()
    async with client.stream("POST", "/v1/completions", json=body) as response:
        if response.status_code != 200:
            raise ValueError(
                f"status {response.status_code}: {(await response.aread()).decode(errors='replace')}"
            )
        async for line in response.aiter_lines():
            now = time.perf_counter()
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            data = json.loads(line.removeprefix("data: "))
            if "error" in data:
                raise ValueError(data["error"]["message"])
            usage = data.get("usage") or usage
            if any(choice["text"] for choice in data["choices"]):
                times.append(now)
    if not usage:
        raise ValueError("the stream ended without saying how many tokens it had")
    tokens = spread_tokens(usage["completion_tokens"], len(times))
    return {"sent": sent, "times": times, "tokens": tokens, "prompt_tokens": usage["prompt_tokens"]}


def spread_tokens(total: int, chunks: int) -> list[int]:
    """How many tokens each chunk had: one, as servers stream, and the last one what is missing or too many.

    A server does not say it. A busy one may put several into a chunk; text that was held back comes in a
    chunk without a token.
    """
    tokens = [1] * min(chunks, total) + [0] * max(0, chunks - total)
    if chunks:
        tokens[-1] += total - sum(tokens)
    return tokens
