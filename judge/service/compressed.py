"""Files of the site, text among them compressed: a cold page is a quarter of its size then.

Only what lies in the site passes here, so neither the API nor its streams are ever held back by a compressor.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse

_TEXT = frozenset({".css", ".html", ".ipynb", ".js", ".json", ".jsonl", ".md", ".mjs", ".svg", ".txt"})
"""The rest is compressed already (.gz, .woff2, the search index) or does not become smaller (weights)."""
_LEAST_BYTES = 1024
_MOST_BYTES = 4 * 2**20
_LEVEL = 6


def file_response(file: Path, headers: Headers) -> Response:
    """`file` for a request with `headers`: compressed where it is text and the browser takes gzip, 304 where
    the browser has it.

    A request for a part of it gets the part of the file itself.
    """
    stat = file.stat()
    answer: Response = FileResponse(file, stat_result=stat)
    if file.suffix in _TEXT and _LEAST_BYTES <= stat.st_size <= _MOST_BYTES:
        answer.headers["vary"] = "Accept-Encoding"
        if takes_gzip(", ".join(headers.getlist("accept-encoding"))) and "range" not in headers:
            body = _compressed(file, stat.st_mtime_ns, stat.st_size)
            etag = answer.headers["etag"].rstrip('"') + '-gzip"'
            kept = {name: answer.headers[name] for name in ("content-type", "last-modified", "vary")}
            answer = Response(body, headers=kept | {"etag": etag, "content-encoding": "gzip"})
    if _matches(headers.get("if-none-match", ""), answer.headers["etag"]):
        return NotModifiedResponse(answer.headers)
    return answer


def takes_gzip(header: str) -> bool:
    """Whether an Accept-Encoding header allows gzip; a weight of 0 forbids it."""
    weights: dict[str, bool] = {}
    for part in header.lower().split(","):
        name, _, parameters = part.partition(";")
        weight = parameters.strip().removeprefix("q=").strip()
        weights[name.strip()] = weight.strip("0.") != "" if parameters.strip().startswith("q=") else True
    return weights.get("gzip", weights.get("*", False))


def _matches(header: str, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return etag in tags or tags == ["*"]


@lru_cache(maxsize=512)
def _compressed(file: Path, _changed: int, _size: int) -> bytes:
    """The same bytes each time, so that what a tag names stays what it is."""
    return gzip.compress(file.read_bytes(), _LEVEL, mtime=0)
