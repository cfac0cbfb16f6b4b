"""What the benchmark says about records, and that it measures what a server does."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minisgl.benchmark.__main__ import main
from minisgl.benchmark.client import Workload, latency_stats, percentile, spread_tokens


def record(sent: float, *chunks: tuple[float, int]) -> dict[str, Any]:
    return {"sent": sent, "times": [time for time, _ in chunks], "tokens": [tokens for _, tokens in chunks]}


def test_one_answer() -> None:
    stats = latency_stats([record(10.0, (10.5, 1), (10.7, 1), (11.1, 2))])
    assert stats == pytest.approx(
        {
            "ttft_p50": 0.5, "ttft_p99": 0.5,
            "tpot_p50": 0.2, "tpot_p99": 0.2,  # 0.6 s for the 3 tokens after the first chunk
            "itl_p50": 0.2, "itl_p99": 0.4,
            "output_tokens_per_s": 4 / 1.1,
        }
    )  # fmt: skip


def test_one_chunk_has_a_first_token_only() -> None:
    stats = latency_stats([record(0.0, (2.0, 3))])
    assert (stats["ttft_p50"], stats["tpot_p50"], stats["itl_p99"]) == (2.0, None, None)
    assert stats["output_tokens_per_s"] == 1.5


def test_overlapping_answers_share_the_time() -> None:
    records = [record(0.0, (1.0, 1), (4.0, 1)), record(2.0, (3.0, 1), (3.5, 1))]
    assert latency_stats(records)["output_tokens_per_s"] == 1.0
    assert latency_stats(records[::-1]) == latency_stats(records)


def test_nothing() -> None:
    assert set(latency_stats([]).values()) == {None}


@given(st.lists(st.integers(0, 1000), min_size=1), st.sampled_from([50, 99]))
def test_the_percentile_is_the_nearest_rank(values: list[int], percent: int) -> None:
    found = percentile(values, percent)
    assert found is not None
    at_most = sum(value <= found for value in values)
    below = sum(value < found for value in values)
    assert at_most * 100 >= percent * len(values) > below * 100
    assert found == sorted(values)[math.ceil(percent / 100 * len(values)) - 1]


@given(st.integers(0, 50), st.integers(0, 20))
def test_tokens_are_spread_over_chunks(total: int, chunks: int) -> None:
    tokens = spread_tokens(total, chunks)
    assert len(tokens) == chunks and all(count >= 0 for count in tokens)
    assert sum(tokens) == (total if chunks else 0)


def test_a_workload_is_the_same_again_and_within_its_bounds() -> None:
    workload = Workload(
        num_requests=20, input_len=(3, 5), output_len=(2, 2), shared_prefix=4, max_token_id=9, request_rate=10
    )
    requests = workload.requests()
    assert requests == Workload(**vars(workload)).requests() and workload.gaps() == workload.gaps()
    assert len({tuple(request["prompt"][:4]) for request in requests}) == 1
    assert all(
        7 <= len(r["prompt"]) <= 9 and max(r["prompt"]) <= 9 and r["max_tokens"] == 2 for r in requests
    )
    assert 0.02 < sum(workload.gaps()) / 20 < 0.5


@pytest.mark.parametrize(
    "settings",
    [
        {"num_requests": 0},
        {"concurrency": 0},
        {"request_rate": 0.0},
        {"input_len": (2, 1)},
        {"output_len": (0, 1)},
    ],
)
def test_an_impossible_workload_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Workload(**settings)


class FakeServer:
    """Answers each request with some events, and remembers how many it had at the same time."""

    def __init__(self, events: list[bytes], status: int = 200) -> None:
        self.events, self.status = events, status
        self.at_once = self.most_at_once = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        writer.write(f"HTTP/1.1 {self.status} X\r\nconnection: close\r\n\r\n".encode())
        for event in self.events:
            writer.write(event)
            await writer.drain()
            await asyncio.sleep(0)
        self.at_once -= 1
        writer.close()

    def run(self, *argv: str) -> int:
        async def serve() -> int:
            server = await asyncio.start_server(self.handle, "127.0.0.1", 0)
            async with server:
                port = server.sockets[0].getsockname()[1]
                url = f"http://127.0.0.1:{port}"
                return await asyncio.to_thread(main, ["--base-url", url, *argv])

        return asyncio.run(serve())


def event(text: str | None, usage: dict[str, int] | None = None) -> bytes:
    data = {"choices": [] if text is None else [{"index": 0, "text": text}], "usage": usage}
    return b"data: " + json.dumps(data).encode() + b"\n\n"


END = [event(None, {"prompt_tokens": 7, "completion_tokens": 3}), b"data: [DONE]\n\n"]


def test_against_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = FakeServer([event("a"), event("b"), event(""), event("c"), *END])
    file = tmp_path / "figures.json"
    assert server.run("--num-requests", "9", "--concurrency", "3", "--json", str(file)) == 0
    figures = json.loads(file.read_text())
    assert (figures["requests"], figures["errors"]) == (9, 0)
    assert (figures["prompt_tokens"], figures["output_tokens"]) == (63, 27)
    assert server.most_at_once <= 3
    shown = capsys.readouterr().out
    for words in ("requests/s", "TTFT", "TPOT", "ITL", "p99"):
        assert words in shown


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (FakeServer([b'{"error": "x"}'], 503), "status 503"),
        (FakeServer([event("a"), b'data: {"error": {"message": "broke down"}}\n\n']), "broke down"),
        (FakeServer([event("a")]), "without saying how many tokens"),
        (FakeServer([b"data: {\n\n"]), "Expecting"),
    ],
)
def test_failures_are_told(server: FakeServer, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert server.run("--num-requests", "2") == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("2 requests failed, the first: ") and words in captured.err
    assert captured.out == ""


def test_no_server_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base-url", "http://127.0.0.1:9", "--num-requests", "1"]) == 1
    assert "1 requests failed" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--num-requests", "0"])
