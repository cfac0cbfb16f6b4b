"""Text of the site goes out compressed, and only that; caches are told what they need to know."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from judge.service.compressed import takes_gzip

TEXT = "<p>one page and one more</p>\n" * 400


@pytest.fixture
def site(idle: Any) -> Any:
    (idle.settings.site / "zh" / "long.html").write_text(TEXT, encoding="utf-8")
    (idle.settings.site / "assets" / "font.woff2").write_bytes(TEXT.encode())
    (idle.settings.site / "assets" / "part.gz").write_bytes(TEXT.encode())
    (idle.settings.site / "assets" / "weights.safetensors").write_bytes(TEXT.encode())
    return idle


def raw(site: Any, path: str, method: str = "GET", **headers: str) -> tuple[Any, bytes]:
    """The answer and its bytes as they came."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with site.client.stream(method, path, headers=named) as answer:
        return answer, b"".join(answer.iter_raw())


def test_text_is_compressed_for_who_takes_it(site: Any) -> None:
    answer, body = raw(site, "/zh/long.html", accept_encoding="gzip, br")
    assert gzip.decompress(body) == TEXT.encode()
    assert answer.headers["content-encoding"] == "gzip" and answer.headers["vary"] == "Accept-Encoding"
    assert int(answer.headers["content-length"]) == len(body) < len(TEXT) / 10
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache" and "content-security-policy" in answer.headers
    plain, body = raw(site, "/zh/long.html", accept_encoding="identity")
    assert body == TEXT.encode() and "content-encoding" not in plain.headers
    assert plain.headers["vary"] == "Accept-Encoding" and plain.headers["etag"] != answer.headers["etag"]


def test_the_head_is_that_of_the_answer(site: Any) -> None:
    answer, body = raw(site, "/zh/long.html", accept_encoding="gzip")
    head, nothing = raw(site, "/zh/long.html", "HEAD", accept_encoding="gzip")
    assert nothing == b"" and body
    for name in ("content-length", "content-encoding", "etag", "vary", "content-type"):
        assert head.headers[name] == answer.headers[name]


@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_what_the_browser_has_is_not_sent_again(site: Any, coding: str) -> None:
    tag = raw(site, "/zh/long.html", accept_encoding=coding)[0].headers["etag"]
    for asked in (tag, f'"other", W/{tag}', "*"):
        again, body = raw(site, "/zh/long.html", accept_encoding=coding, if_none_match=asked)
        assert (again.status_code, body) == (304, b"")
        assert again.headers["etag"] == tag and again.headers["vary"] == "Accept-Encoding"
        assert "content-encoding" not in again.headers
    other = "identity" if coding == "gzip" else "gzip"
    assert raw(site, "/zh/long.html", accept_encoding=other, if_none_match=tag)[0].status_code == 200
    (site.settings.site / "zh" / "long.html").write_text(TEXT + "more", encoding="utf-8")
    answer, body = raw(site, "/zh/long.html", accept_encoding=coding, if_none_match=tag)
    assert answer.status_code == 200
    assert (gzip.decompress(body) if coding == "gzip" else body) == (TEXT + "more").encode()


@pytest.mark.parametrize("name", ["font.woff2", "part.gz", "weights.safetensors"])
def test_what_is_small_already_is_left_alone(site: Any, name: str) -> None:
    answer, body = raw(site, f"/assets/{name}", accept_encoding="gzip")
    assert body == TEXT.encode()
    assert "content-encoding" not in answer.headers and "vary" not in answer.headers


def test_a_short_file_and_a_part_of_a_file_are_left_alone(site: Any) -> None:
    assert "content-encoding" not in raw(site, "/zh/", accept_encoding="gzip")[0].headers
    part, body = raw(site, "/zh/long.html", accept_encoding="gzip", range="bytes=3-10")
    assert (part.status_code, body) == (206, TEXT.encode()[3:11])
    assert "content-encoding" not in part.headers


def test_the_api_and_its_streams_are_as_they_were(service: Any) -> None:
    made = service.submit("pass").json()
    with service.client.stream(
        "GET", f"/api/v1/submissions/{made['id']}/events", headers={"accept-encoding": "gzip"}
    ) as stream:
        assert "content-encoding" not in stream.headers
        assert b"event: verdict" in b"".join(stream.iter_raw())
    assert "content-encoding" not in raw(service, "/api/v1/exercises", accept_encoding="gzip")[0].headers


@pytest.mark.parametrize(
    ("header", "takes"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("*", True),
        ("", False),
        ("br", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000, *", False),
        ("*;q=0", False),
        (";;,q=,gzip;q=x", True),
    ],
)
def test_who_takes_gzip(header: str, takes: bool) -> None:
    assert takes_gzip(header) is takes
