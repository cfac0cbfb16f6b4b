"""What the service refuses: other sites, other names, too much, and what is no submission."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
from typing import Any

import pytest
from test_api import refused

JSON = {"content-type": "application/json"}
BODY = json.dumps({"exercise": 176, "code": "pass"})


def post(service: Any, content: Any, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return service.client.post("/api/v1/submissions", content=content, headers=JSON | named)


def exchange(service: Any, request: str, *lines: str, body: bytes = b"") -> bytes:
    """What a raw request is answered with, to the end of the connection."""
    head = [f"{request} HTTP/1.1", "Host: localhost", "Connection: close", f"Content-Length: {len(body)}"]
    with socket.create_connection(("127.0.0.1", service.client.base_url.port), timeout=20) as connection:
        connection.sendall("\r\n".join([*head, *lines, "", ""]).encode() + body)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def nothing_stored(service: Any) -> bool:
    return service.client.get("/api/v1/submissions?mine").json()["submissions"] == []


@pytest.mark.parametrize(
    "name", ["evil.example", "127.0.0.1.evil.example", "", "localhost:80:80", "[", "a b"]
)
def test_a_rebound_host_name_is_refused(idle: Any, name: str) -> None:
    for path in ("/zh/", "/api/v1/exercises", "/healthz"):
        refused(idle.client.get(path, headers={"host": name}), 421, "host")


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000"])
def test_loopback_names_are_served(idle: Any, name: str) -> None:
    assert idle.client.get("/healthz", headers={"host": name}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "cross-site", "origin": "https://evil.example"},
        {"sec_fetch_site": "same-origin, cross-site"},
        {"origin": "http://[::1"},
        {"origin": "["},
        {"origin": ""},
    ],
)
def test_another_site_cannot_submit(idle: Any, headers: dict[str, str]) -> None:
    refused(post(idle, BODY, **headers), 403, "origin")
    assert nothing_stored(idle)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Origin", ("http://localhost", "https://evil.example")),
        ("Sec-Fetch-Site", ("same-origin", "cross-site")),
        ("Content-Type", ("application/json", "text/plain")),
    ],
)
def test_a_header_sent_twice_counts_with_both_values(idle: Any, name: str, values: tuple[str, str]) -> None:
    lines = [f"{name}: {value}" for value in values]
    if name != "Content-Type":
        lines.append("Content-Type: application/json")
    answer = exchange(idle, "POST /api/v1/submissions", *lines, body=BODY.encode())
    assert answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 415")), answer[:80]
    assert nothing_stored(idle)


def test_our_own_page_and_the_command_line_can(idle: Any) -> None:
    own = f"http://127.0.0.1:{idle.client.base_url.port}"
    assert post(idle, BODY, origin=own, sec_fetch_site="same-origin").status_code == 201
    assert post(idle, BODY).status_code == 201


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_form_of_another_page_cannot_submit(idle: Any, kind: str) -> None:
    answer = idle.client.post("/api/v1/submissions", content=BODY, headers={"content-type": kind})
    refused(answer, 415, "content_type")


def test_source_over_the_limit(idle: Any) -> None:
    assert idle.submit("x" * 64 * 1024).status_code == 201
    words = refused(idle.submit("x" * (64 * 1024 + 1)), 413, "source_size")
    assert "64 kB" in words["en"] and "65 kB" in words["en"]
    refused(idle.submit("页" * 30_000), 413, "source_size")
    assert idle.submit("页" * 20_000).status_code == 201, "the limit counts bytes of UTF-8, not of JSON"


def test_body_over_the_limit_is_not_read_to_its_end(idle: Any) -> None:
    answer = idle.client.post("/api/v1/submissions", content=b" " * 10_000_000, headers=JSON)
    refused(answer, 413, "body_size")

    # Who sends everything before reading gets the answer, too, and not a broken connection.
    raw = exchange(idle, "POST /api/v1/submissions", "Content-Type: application/json", body=b" " * 10_000_000)
    assert raw.startswith(b"HTTP/1.1 413") and b"body_size" in raw

    read = 0

    def endless() -> Any:
        nonlocal read
        while read < 200_000_000:
            read += 65536
            yield b" " * 65536

    try:
        refused(idle.client.post("/api/v1/submissions", content=endless(), headers=JSON), 413, "body_size")
    except Exception as error:  # the connection may be closed before the answer is read
        assert (
            "Write" in type(error).__name__
            or "Read" in type(error).__name__
            or "Remote" in type(error).__name__
        )
    assert read < 50_000_000
    assert nothing_stored(idle) and idle.client.get("/healthz").status_code == 200


def test_a_body_that_does_not_arrive(make_service: Any, settings: Any) -> None:
    service = make_service(dataclasses.replace(settings, body_s=0.2))
    with socket.create_connection(("127.0.0.1", service.client.base_url.port), timeout=20) as connection:
        connection.sendall(
            b"POST /api/v1/submissions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b'Content-Length: 500\r\n\r\n{"exercise"'
        )
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 408") and b"slow" in answer


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe{}",
        b'{"exercise": 176}',
        b'{"code": "x"}',
        b'{"exercise": 176, "code": 5}',
        b'{"exercise": 176, "code": null}',
        b'{"exercise": [176], "code": "x"}',
        b'{"exercise": 176.0, "code": "x"}',
        b'{"exercise": true, "code": "x"}',
        b'{"exercise": NaN, "code": "x"}',
        b'{"exercise": 176, "code": "x", "user_id": 2}',
        b'{"exercise": 176, "code": "x", "samples_only": "yes"}',
        b'{"exercise": 176, "code": "x", "key": ""}',
        b'{"exercise": 176, "code": "x", "key": "a b"}',
        b'{"exercise": 176, "code": "\\ud800"}',
        b'{"exercise": 176, "code": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"exercise": ' + b"9" * 20_000 + b', "code": "x"}',
        b'{"exercise": 176, "code": "x", ' + b'"a":1,' * 5000 + b'"b":1}',
    ],
    ids=lambda content: content[:40].decode("latin1"),
)
def test_malformed(idle: Any, content: bytes) -> None:
    refused(post(idle, content), 422, "malformed")
    assert nothing_stored(idle)


@pytest.mark.parametrize("name", ["\\ud800", "\\u0000", "{x}", "{0.__class__}", "<b>", "١٧٦", "9" * 4000])
def test_a_refusal_that_quotes_what_was_sent(idle: Any, name: str) -> None:
    words = refused(post(idle, f'{{"exercise": "{name}", "code": "x"}}'.encode()), 404, "no_exercise")
    assert len(words["zh"]) < 200
    refused(post(idle, f'{{"exercise": 176, "code": "x", "{name}": 1}}'.encode()), 422, "malformed")


def test_odd_text_is_kept_as_it_is(service: Any) -> None:
    code = "pass\x00\u2028\ufeff</script>\r\n😀"
    made = service.submit(code).json()
    assert service.result(made["id"])["code"] == code


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/submissions/0",
        "/api/v1/submissions/-1",
        "/api/v1/submissions/x",
        f"/api/v1/submissions/{10**30}",
        "/api/v1/submissions?mine&limit=0",
        "/api/v1/submissions?mine&limit=x",
        "/api/v1/submissions?mine&before=-1",
        f"/api/v1/submissions?mine&exercise={10**30}",
        "/api/v1/exercises/176?lang=fr",
    ],
)
def test_bad_parameters(idle: Any, path: str) -> None:
    refused(idle.client.get(path), 422, "malformed")


def test_wrong_addresses_and_methods(idle: Any) -> None:
    refused(idle.client.get("/api/v1/nothing"), 404, "not_found")
    refused(idle.client.get("/api/v1/submissions/12345"), 404, "no_submission")
    for path in ("/api/", "/fr/", "/fr/exercises/176", "/book/fr/", "/static/base.css"):
        refused(idle.client.get(path), 404, "not_found")
    refused(idle.client.delete("/api/v1/submissions/1", headers=JSON), 405, "method")
    refused(idle.client.put("/api/v1/submissions", content="{}", headers=JSON), 405, "method")


def test_head_answers_as_get_without_a_body(idle: Any) -> None:
    made = idle.submit("pass").json()
    for path in (
        "/",
        "/zh/",
        "/en/exercises/176",
        "/assets/app/site.js",
        "/api/v1/exercises",
        "/healthz",
        "/none",
    ):
        head, get = idle.client.head(path), idle.client.get(path)
        assert (head.status_code, head.content) == (get.status_code, b""), path
        assert head.headers.get("content-length") == get.headers.get("content-length"), path
    assert idle.client.head(made["events"]).status_code == 405, "a stream has no end to wait for"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../../var/server.key",
        "/assets/%2e%2e/%2e%2e/var/server.key",
        "/assets/..%2f..%2fvar/server.key",
        "/assets//etc/passwd",
        "/book/zh/../../var/server.key",
        "/book/zh/%2e%2e/%2e%2e/var/server.key",
        "/book/zh/..%2f..%2fvar%2fserver.key",
        "/book/zh//etc/passwd",
        "/book/zh/%00",
        "/book/zh/link",
        "/book/zh/folder/server.key",
        "/book/zh/circle",
        "/book/zh/circle/x",
        "/book/zh/pipe",
        "/book/zh/index.html/x",
        "/book/zh/%ff",
        "/book/zh/%ed%a0%80",
        "/book/zh/%252e%252e/%252e%252e/var/server.key",
        "/book/zh/" + "a" * 300,
        "/book/zh/" + "a/" * 3000,
        "/assets/" + "a" * 300,
        "/assets/" + "a/" * 3000,
        "/.hidden",
        "/assets/.vite/manifest.json",
    ],
    ids=lambda path: path[:40],
)
def test_no_file_outside_is_served(idle: Any, path: str) -> None:
    book = idle.settings.site / "book" / "zh"
    (idle.settings.site / ".hidden").write_text("hidden")
    (book / "link").symlink_to(idle.settings.var / "server.key")
    (book / "folder").symlink_to(idle.settings.var)
    (book / "circle").symlink_to(book / "circle")
    os.mkfifo(book / "pipe")
    answer = exchange(idle, f"GET {path}")
    assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 4")), answer[:80]
    assert (idle.settings.var / "server.key").read_bytes() not in answer


def test_security_headers_everywhere(idle: Any) -> None:
    for path in ("/zh/", "/assets/app/site.js", "/api/v1/exercises", "/nothing", "/book/zh/"):
        headers = idle.client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers or "uvicorn" in headers["server"]
        assert headers["cross-origin-embedder-policy"] == "require-corp", "for memory that workers share"
        assert headers["cross-origin-opener-policy"] == "same-origin"
    policy = idle.client.get("/zh/exercises/176/").headers["content-security-policy"]
    assert "unsafe-inline" not in policy and "'unsafe-eval'" not in policy and "default-src 'none'" in policy
    assert idle.client.get("/api/v1/exercises").headers["cache-control"] == "no-store"


def test_a_policy_names_the_script_of_the_frame_that_runs_python(idle: Any) -> None:
    manifest = idle.settings.site / "assets" / "runtime" / "manifest.json"
    assert "sha256" not in idle.client.get("/zh/").headers["content-security-policy"]
    script = "'sha256-" + "A" * 43 + "='"
    for text, named in ((json.dumps({"frame": {"script": script}}), True), ("[", False), ("[]", False)):
        manifest.write_text(text)
        assert (script in idle.client.get("/zh/").headers["content-security-policy"]) == named
    manifest.write_text(json.dumps({"frame": {"script": "'unsafe-inline'"}}))
    assert "unsafe-inline" not in idle.client.get("/zh/").headers["content-security-policy"]


def test_the_server_key_is_the_owners_alone(idle: Any) -> None:
    assert (idle.settings.var / "server.key").stat().st_mode & 0o777 == 0o600
