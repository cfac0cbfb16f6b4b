"""Chapter 15: a server, and three clients. One wants a whole answer, one a stream, one leaves half-way.

python examples/ch15_api_server.py
"""

import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

IDS = [3, 14, 25, 36, 47]


@contextmanager
def server(*flags: str) -> Iterator[str]:
    """Start a server on a free port; "host:port" once it is ready."""
    command = [sys.executable, "-m", "minisgl", "--port", "0", "--num-pages", "1024", *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready = re.search(r"is ready at http://(\S+) after", process.stdout.readline())
        assert ready, "the server did not start: its reason stands above"
        yield ready[1]
    finally:
        process.terminate()
        process.wait()


def ask(address: str, **body: Any) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(address, timeout=120)
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    return connection.getresponse()


def pages_back(address: str) -> bool:
    """Wait until the engine has nothing to do, then count its pages."""
    while True:
        connection = http.client.HTTPConnection(address, timeout=120)
        connection.request("GET", "/health")
        health = json.loads(connection.getresponse().read())
        engine = health["engine"]
        if not (health["requests"] or engine["running"] or engine["waiting"]):
            pages: bool = engine["free_pages"] + engine["cached_pages"] == engine["total_pages"]
            return pages
        time.sleep(0.05)


def main() -> None:
    with server() as address:
        request = {"prompt": IDS, "max_tokens": 8, "temperature": 0, "ignore_eos": True}
        response = ask(address, **request)
        kind, usage = response.headers["Content-Type"], json.loads(response.read())["usage"]
        counts = (usage[name] for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
        print(f"stream=false: {kind}, usage", *counts)

        events = [line for line in ask(address, **request, stream=True).read().decode().split("\n\n") if line]
        print("stream=true: last event", events[-1].removeprefix("data: "))

        response = ask(address, **request | {"max_tokens": 500}, stream=True)
        for _ in range(2):  # an event ends with an empty line
            while response.readline() != b"\n":
                pass
        response.close()
        print("client gone after 2 events: all pages back:", pages_back(address))


if __name__ == "__main__":
    main()
