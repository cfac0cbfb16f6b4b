"""How fast the judge is: one trivial submission, warm, and many with several in flight.

Run `python benchmarks/judge_speed.py [--in-flight 4] [--count 200]`. Beside it: the same work in a fresh
interpreter for each submission, which is what a judge without a zygote would do.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from judge.sandbox import Bundle, Limits, Pool, make_bundle

SOURCE = b"import torch\n\ndef prefix_sum(x):\n    return torch.cumsum(x, 0)\n"
DRIVE = """
def drive(target, case, io):
    io.emit(io.attempt(target, case["x"]))
    io.emit(case["x"])
"""
CASES = 10
FRESH = f"""
import os
os.environ["OMP_NUM_THREADS"] = "1"
{SOURCE.decode()}
for _ in range({CASES}):
    assert prefix_sum(torch.arange(6)).tolist() == [0, 1, 3, 6, 10, 15]
"""


def submission(pool: Pool, bundle: Bundle) -> float:
    """Judge one right submission on random inputs; seconds from asking for the box to its end."""
    started = time.perf_counter()
    with pool.box(bundle, Limits()) as box:
        box.load(SOURCE, filename="prefix_sum.py", target="prefix_sum")
        for _ in range(CASES):
            numbers = [random.randrange(100) for _ in range(6)]
            emitted = box.case(DRIVE, {"x": torch.tensor(numbers)}).emitted
            assert emitted[0]["value"].tolist() == list(itertools.accumulate(numbers))
        box.finish()
    return time.perf_counter() - started


def fresh() -> float:
    """The same in a fresh interpreter, with no isolation at all."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", FRESH], check=True)
    return time.perf_counter() - started


def percentiles(seconds: list[float]) -> str:
    """p50 and p95 in milliseconds."""
    cuts = statistics.quantiles(seconds, n=20)
    return f"p50 {cuts[9] * 1e3:.1f} ms, p95 {cuts[18] * 1e3:.1f} ms"


def rate(pool: Pool, bundle: Bundle, in_flight: int, count: int) -> float:
    """Submissions a second with ``in_flight`` threads, ``count`` together."""
    numbers = iter(range(count))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if next(numbers, None) is None:
                    return
            submission(pool, bundle)

    threads = [threading.Thread(target=work) for _ in range(in_flight)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count / (time.perf_counter() - started)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--in-flight", type=int, default=4)
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {CASES} cases a submission")
    started = time.perf_counter()
    with Pool(slots=options.in_flight) as pool:
        bundle = make_bundle(None)
        print(f"isolation: {pool.isolation}, ready after {time.perf_counter() - started:.2f} s")
        started = time.perf_counter()
        submission(pool, bundle)
        print(f"first submission, with its template: {(time.perf_counter() - started) * 1e3:.0f} ms")
        alone = [submission(pool, bundle) for _ in range(options.count)]
        print(f"one at a time: {percentiles(alone)}")
        together = rate(pool, bundle, options.in_flight, options.count)
        print(f"{options.in_flight} in flight: {together:.1f} a second")
    times = [fresh() for _ in range(5)]
    each = statistics.median(times)
    print(f"fresh interpreter: {each * 1e3:.0f} ms each, {1 / each:.2f} a second")


if __name__ == "__main__":
    main()
