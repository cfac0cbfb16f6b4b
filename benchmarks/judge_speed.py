"""How fast the judge is: warm verdicts on exercise 192, without and with the engine, and many in flight.

Run `python benchmarks/judge_speed.py [--count 50] [--in-flight 4]`. Beside it: the same drive on the same
cases in a fresh interpreter for each submission, which is what a judge without a zygote would start with, and
that with no isolation and nothing compared.
"""

from __future__ import annotations

import argparse
import gc
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from judge.exercises import ROOT, Exercise, find
from judge.run import judge_submission
from judge.sandbox import Pool
from judge.solution import solution_text
from judge.types import Verdict

FRESH = """
import pickle, sys
import torch
from judge.harness.local import Collaborator, LocalIO
from judge.authoring.prefix_cache import PrefixCache
from judge.sandbox.protocol import delivered, packed
torch.set_num_threads(1)
source, drive, cases = pickle.load(open(sys.argv[1], "rb"))
submission, driver = {}, {}
exec(source, submission)
exec(drive, driver)
for case in cases:
    trusted = PrefixCache(case.data["page_size"], *case.outside)
    io = LocalIO(Collaborator(trusted), "submission.py")
    driver["drive"](submission["cache_req"], delivered(packed(case.data)), io)
    assert io.emitted
"""


def accepted(exercise: Exercise, source: bytes, pool: Pool, *, engine: bool) -> None:
    """Judge a right submission on fresh cases."""
    result = judge_submission(exercise, source, pool=pool, engine=engine)
    assert result.verdict is Verdict.AC, result.message


def fresh(path: str) -> None:
    """The same drive and cases in a fresh interpreter."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", FRESH, path], check=True, env=environment)


def timed(work: Callable[[], None]) -> float:
    """Seconds that ``work`` takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def percentiles(seconds: list[float]) -> str:
    """p50 and p95 in milliseconds."""
    cuts = statistics.quantiles(seconds, n=20, method="inclusive")
    return f"p50 {cuts[9] * 1e3:.0f} ms, p95 {cuts[18] * 1e3:.0f} ms"


def rate(work: Callable[[], None], in_flight: int, count: int) -> float:
    """How often a second ``work`` gets done by ``in_flight`` threads, ``count`` times in all."""
    with ThreadPoolExecutor(in_flight) as threads:
        started = time.perf_counter()
        for done in [threads.submit(work) for _ in range(count)]:
            done.result()
        return count / (time.perf_counter() - started)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="warm submissions of each kind")
    parser.add_argument("--in-flight", type=int, default=4)
    options = parser.parse_args()
    torch.set_num_threads(1)
    exercise = find("192")
    source = solution_text(exercise).encode()
    cases = exercise.hidden.cases("benchmark")
    calls = sum(len(case.data["calls"]) for case in cases)
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}; 192: {len(cases)} cases, {calls} calls")

    with Pool(slots=options.in_flight, spare=True) as pool, tempfile.NamedTemporaryFile() as file:
        print(f"isolation: {pool.isolation}")

        def without() -> None:
            accepted(exercise, source, pool, engine=False)

        def with_engine() -> None:
            accepted(exercise, source, pool, engine=True)

        print(f"first verdict, with its template: {timed(without) * 1e3:.0f} ms")
        with_engine()
        gc.collect()
        gc.freeze()  # as the service's worker does
        spent = time.process_time()
        alone = [timed(without) for _ in range(options.count)]
        spent = (time.process_time() - spent) / options.count
        print(f"verdict without the engine: {percentiles(alone)}; judge's own CPU {spent * 1e3:.0f} ms each")
        print(f"verdict with the engine: {percentiles([timed(with_engine) for _ in range(options.count)])}")
        together = rate(without, options.in_flight, 2 * options.count)
        print(f"{options.in_flight} in flight, without the engine: {together:.1f} a second")

        pickle.dump((source, exercise.hidden.drive_source, cases), file)
        file.flush()
        apart = [timed(lambda: fresh(file.name)) for _ in range(5)]
        peer = rate(lambda: fresh(file.name), options.in_flight, 2 * options.in_flight)
        print(f"fresh interpreter: p50 {statistics.median(apart) * 1e3:.0f} ms")
        print(f"{options.in_flight} fresh interpreters in flight: {peer:.2f} a second")
    print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
