"""The KV of a real run after each of its batches, measured by the learner's function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.own_run import line_of
from minisgl.models import ModelConfig, resolve_model
from minisgl.models.locate import BUNDLED

FLOAT32 = 4  # bytes, as the tab's engine computes


def own_run(target: Any, trace: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The run's own events, and a footprint after each forward."""
    elements = ModelConfig.from_folder(resolve_model(BUNDLED)).kv_elements_per_token
    size = 1
    rows: dict[int, list[int]] = {}
    lengths: dict[int, int] = {}
    for event in trace:
        yield event
        match event["type"]:
            case "setup":
                size = event["page_size"]
            case "admitted":
                rows[event["req"]] = []
                lengths[event["req"]] = event["cached_len"]
            case "page_table_write":
                start, locations = event["start"], event["locations"]
                rows[event["req"]][start : start + len(locations)] = locations
            case "batch":
                for req, tokens in zip(event["uids"], event["tokens"], strict=True):
                    lengths[req] += tokens
            case "forward_end":
                tables = [[rows[req][at] // size for at in range(0, lengths[req], size)] for req in lengths]
                result = target(tables, list(lengths.values()), size, elements * FLOAT32)
                yield {"type": "footprint", "result": result, **line_of(target)}
            case "finished" | "retract":
                del rows[event["req"]], lengths[event["req"]]
