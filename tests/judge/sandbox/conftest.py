"""One pool of each kind for these tests."""

import pytest

from judge.sandbox import Bundle, HostError, Pool, make_bundle
from judge.sandbox.doctor import examine


@pytest.fixture(scope="session")
def isolated_pool():
    pool = Pool(isolation="strict")
    try:
        pool.isolation  # waits
    except HostError:
        pytest.fail("\n".join(fact.text["en"] for fact in examine() if not fact.ok))
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def weak_pool():
    with Pool(isolation="weak") as pool:
        yield pool


@pytest.fixture(params=["isolated", "weak"])
def pool(request):
    """Both kinds of box have one interface, and one test."""
    return request.getfixturevalue(f"{request.param}_pool")


ENGINE = """
def run(job, functions, send):
    for number in range(job["events"]):
        send({"number": number})
    return {"answer": functions["double"](job["x"])}
"""


@pytest.fixture(scope="session")
def bundle():
    """The whole engine's bundle, with an engine program of our own in it."""
    whole = make_bundle(None)
    return Bundle("test", {**whole.sources, "judge.swap.program": ENGINE}, whole.packages)
