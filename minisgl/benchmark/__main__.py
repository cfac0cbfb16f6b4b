"""`python -m minisgl.benchmark --base-url http://127.0.0.1:1919`: how fast is a server?"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .client import Result, Workload, run_workload


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m minisgl.benchmark",
        description="Send random prompts to a server of OpenAI's API and report how fast it answers.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--base-url", default="http://127.0.0.1:1919", help="of the server")
    add("--model", help="what the server calls the model; needed by servers that have several")
    add("--num-requests", type=int, default=64)
    add("--concurrency", type=int, default=16, help="most requests at the same time, 0: no limit")
    add("--request-rate", type=float, help="requests a second, with random gaps (default: as fast as may be)")
    add(
        "--input-len",
        type=int,
        nargs=2,
        default=(100, 400),
        metavar=("MIN", "MAX"),
        help="tokens of a prompt",
    )
    add(
        "--output-len",
        type=int,
        nargs=2,
        default=(32, 128),
        metavar=("MIN", "MAX"),
        help="tokens to generate",
    )
    add("--shared-prefix", type=int, default=0, help="tokens that all prompts begin with")
    add("--max-token-id", type=int, default=6000, help="largest id in the prompts; the model must have it")
    add("--temperature", type=float, default=0.0)
    add("--seed", type=int, default=0)
    add("--json", type=Path, metavar="FILE", help="write the figures there as well")
    return parser


def table(summary: dict[str, Any]) -> str:
    """The figures for a human."""
    lines = [
        f"requests           {summary['requests']:12d}   ({summary['errors']} failed)",
        f"seconds            {summary['seconds']:12.2f}",
        f"requests/s         {summary['requests_per_s']:12.2f}",
        f"prompt tokens      {summary['prompt_tokens']:12d}",
        f"output tokens      {summary['output_tokens']:12d}",
    ]
    rate = summary["output_tokens_per_s"]
    if rate is not None:
        lines.append(f"output tokens/s    {rate:12.1f}")
    lines.append(f"{'milliseconds':<19}{'p50':>12}{'p99':>12}")
    for name in ("ttft", "tpot", "itl"):
        values = [summary[f"{name}_p50"], summary[f"{name}_p99"]]
        cells = "".join("           -" if value is None else f"{value * 1000:12.2f}" for value in values)
        lines.append(f"{name.upper():<19}{cells}")
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Run it. Returns the exit code: 1 when a request has failed."""
    parser = make_parser()
    args = parser.parse_args(argv)
    try:
        workload = Workload(
            num_requests=args.num_requests,
            concurrency=args.concurrency or None,
            request_rate=args.request_rate,
            input_len=tuple(args.input_len),
            output_len=tuple(args.output_len),
            shared_prefix=args.shared_prefix,
            max_token_id=args.max_token_id,
            temperature=args.temperature,
            seed=args.seed,
        )
    except ValueError as error:
        parser.error(str(error))

    def progress(done: int) -> None:
        if sys.stderr.isatty():
            print(
                f"\r{done}/{args.num_requests}", end="" if done < args.num_requests else "\n", file=sys.stderr
            )

    result: Result = asyncio.run(run_workload(args.base_url, workload, model=args.model, on_done=progress))
    if result.errors:
        print(f"{len(result.errors)} requests failed, the first: {result.errors[0]}", file=sys.stderr)
    if not result.records:
        return 1
    summary = result.summary()
    print(table(summary))
    if args.json is not None:
        args.json.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return 1 if result.errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
