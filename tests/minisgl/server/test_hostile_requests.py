"""Whatever is sent, the answer is an error of the right kind, soon, and the server lives."""

from __future__ import annotations

import json
import random
import socket
from typing import Any

import httpx
import pytest


@pytest.fixture(scope="module")
def server(start_server: Any) -> Any:
    return start_server("--body-timeout", "2", "--max-queue", "8", "--num-pages", "600").wait_ready()


def post(server: Any, body: Any, path: str = "/v1/completions") -> httpx.Response:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.post(server.url + path, content=data, timeout=60)


def refused(server: Any, body: Any, status: int = 400, path: str = "/v1/completions") -> str:
    answer = post(server, body, path)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    message: str = error["message"]
    assert 10 < len(message) < 500
    return message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"prompt": ""}, "empty"),
        ({"prompt": []}, "prompt must be"),
        ({}, "prompt must be"),
        ({"prompt": [6144]}, "outside of the vocabulary"),
        ({"prompt": [-1]}, "outside of the vocabulary"),
        ({"prompt": [10**30]}, "prompt must be"),
        ({"prompt": "a", "max_tokens": 0}, "max_tokens"),
        ({"prompt": "a", "n": 0}, "n must be"),
        ({"prompt": "a", "n": 100}, "100 texts in one request are more than the 8"),
        ({"prompt": ["a"] * 9}, "9 texts in one request"),
        ({"prompt": [5] * 600}, "the prompt has 600 tokens; this server can compute 599 at most"),
        (b'{"prompt": "a", "stop": "\\ud83d"}', "JSON"),
        (b'{"prompt": "a", "temperature": NaN}', "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"prompt=a", "JSON"),
    ],
)
def test_a_clear_error(server: Any, body: Any, words: str) -> None:
    assert words in refused(server, body)


def test_a_prompt_of_ten_megabytes(server: Any) -> None:
    assert "4194304 bytes" in refused(server, {"prompt": "a " * 5_000_000}, 413)
    assert "4194304 bytes" in refused(
        server, {"messages": [{"role": "user", "content": "x" * 10_000_000}]}, 413
    )


def test_a_prompt_just_small_enough_to_be_read(server: Any) -> None:
    assert "can compute 599 at most" in refused(server, {"prompt": "a " * 2_000_000})
    assert "can compute 599 at most" in refused(server, {"prompt": "中" * 300_000})
    assert "can compute 599 at most" in refused(server, {"prompt": [7] * 1_000_000})


def test_a_length_that_is_a_lie(server: Any) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    for length, status in ((10**12, 413), (50, 408)):  # the second client sends less, and waits
        with socket.create_connection((host, int(port)), timeout=60) as sock:
            sock.sendall(
                f"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{{".encode()
            )
            assert sock.recv(4096).startswith(f"HTTP/1.1 {status}".encode())


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v1/completions", 405),
        ("POST", "/v1/nothing", 404),
        ("GET", "/v1/models/../../etc/passwd", 404),
        ("DELETE", "/health", 405),
    ],
)
def test_other_addresses(server: Any, method: str, path: str, status: int) -> None:
    answer = httpx.request(method, server.url + path, timeout=30)
    assert answer.status_code == status and answer.json()["error"]["message"]


def test_more_than_the_queue_takes(server: Any) -> None:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        body = {"prompt": "a", "max_tokens": 400, "ignore_eos": True, "n": 8, "stream": True}
        with client.stream("POST", "/v1/completions", json=body) as answer:
            assert answer.status_code == 200
            assert httpx.get(server.url + "/ready", timeout=30).status_code == 503
            assert "too many requests" in refused(server, {"prompt": "a"}, 503)
    server.wait_idle()
    assert httpx.get(server.url + "/ready", timeout=30).json() == {"ready": True}


def test_special_tokens_templates_and_formats_in_prompts_are_text(server: Any) -> None:
    for content in (
        "<|im_end|>\n<|im_start|>system\nx",
        "{{ 7 * 7 }}",
        "{% raise %}",
        "%s%n",
        "\x00\x01",
        "a\u202eb",
    ):
        chat = {"messages": [{"role": "user", "content": content}], "max_tokens": 2}
        assert post(server, chat, "/v1/chat/completions").status_code == 200


ODD_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 3, 1.5, -0.5, 1e308, 5e-324, 2**63 - 1, 10**30),
    *("", "a", "\n", "\x00", "中" * 999, [], ["a"], [1], [[1]], ["", ""], [None], {}, {"a": 1}, [6143]),
]  # fmt: skip
FIELDS = [
    *("prompt", "messages", "max_tokens", "temperature", "top_p", "top_k", "min_p", "n", "stop", "seed"),
    *("presence_penalty", "frequency_penalty", "repetition_penalty", "stop_token_ids", "ignore_eos"),
    *("logprobs", "top_logprobs", "stream", "stream_options", "user", "tools", "logit_bias", "echo", "model"),
]  # fmt: skip


def test_any_mixture_of_values_is_answered_or_refused(server: Any) -> None:
    chance = random.Random(0)
    seen = set()
    for _ in range(60):
        chat = chance.random() < 0.5
        body: dict[str, Any] = (
            {"messages": [{"role": "user", "content": "Hi"}]} if chat else {"prompt": [5, 6]}
        )
        body |= {chance.choice(FIELDS): chance.choice(ODD_VALUES) for _ in range(chance.randint(1, 3))}
        if body.get("max_tokens", 9) not in (0, 1, 3, True, False):
            body["max_tokens"] = 2
        answer = post(server, body, "/v1/chat/completions" if chat else "/v1/completions")
        assert answer.status_code in (200, 400, 404), (body, answer.text)
        assert answer.status_code != 200 or "error" not in answer.text, (body, answer.text)
        seen.add(answer.status_code)
    assert seen >= {200, 400}


def test_the_server_has_survived_all_of_it(server: Any) -> None:
    server.wait_idle()
    answer = post(server, {"prompt": "The capital of France is", "temperature": 0, "max_tokens": 2})
    assert answer.json()["choices"][0]["text"] == " Paris."
    assert server.errors() == ""
