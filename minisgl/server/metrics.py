"""What /metrics says, in Prometheus' words."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ..message import StatsReply
from .job import Choice, Job

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics(Collector):
    """Counts what the API server sees; what the scheduler sees is in its last `stats`."""

    def __init__(self) -> None:
        self.stats: StatsReply | None = None
        self.detokenizer_requests = 0
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self.requests = Counter(
            "minisgl_requests",
            "HTTP requests for generation that have ended, by the status they were answered with (499: the"
            " client went away)",
            ["endpoint", "status"],
            registry=self.registry,
        )
        self.prompt_tokens = Counter("minisgl_prompt_tokens", "Tokens of prompts", registry=self.registry)
        self.generated_tokens = Counter(
            "minisgl_generated_tokens", "Tokens generated", registry=self.registry
        )
        self.ttft = self._histogram("minisgl_time_to_first_token_seconds", "From request to first token")
        self.tpot = self._histogram(
            "minisgl_time_per_output_token_seconds", "Of a text's tokens after the first, on average"
        )

    def observe(self, choice: Choice, job: Job) -> None:
        """Count a choice's time to the first token when that has come, and the others' when the last has."""
        if choice.tokens == 1:
            self.ttft.observe(choice.first_time - job.created)
        if choice.is_done and choice.tokens > 1:
            self.tpot.observe((choice.last_time - choice.first_time) / (choice.tokens - 1))

    def render(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self.registry)

    def collect(self) -> Iterator[Metric]:
        """What other processes have told; nothing of the scheduler's before it has sent any."""
        yield GaugeMetricFamily(
            "minisgl_detokenizer_requests",
            "Requests of which the detokenizer holds something",
            self.detokenizer_requests,
        )
        stats = self.stats
        if stats is None:
            return
        yield GaugeMetricFamily("minisgl_waiting_requests", "Requests that wait for room", stats.waiting)
        yield GaugeMetricFamily("minisgl_running_requests", "Requests that are computed", stats.running)
        yield GaugeMetricFamily(
            "minisgl_free_pages", "Pages of the KV pool that hold nothing", stats.free_pages
        )
        yield GaugeMetricFamily(
            "minisgl_cached_pages",
            "Pages that hold cached prefixes and are free when needed",
            stats.cached_pages,
        )
        yield GaugeMetricFamily("minisgl_total_pages", "Pages of the KV pool", stats.total_pages)
        yield CounterMetricFamily(
            "minisgl_prefill_tokens", "Tokens of prompts that were computed", stats.prefill_tokens
        )
        yield CounterMetricFamily(
            "minisgl_cache_hit_tokens", "Tokens of prompts that were cached", stats.cache_hit_tokens
        )

    def _histogram(self, name: str, text: str) -> Histogram:
        return Histogram(name, text, buckets=_SECONDS, registry=self.registry)
