"""The command line of the server."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..scheduler import SchedulerConfig
from ..utils import check_count, is_int, is_number

DEFAULT_PORT = 1919


@dataclass(frozen=True)
class ServerArgs(SchedulerConfig):
    """The settings of a server: those of its scheduler, and how it meets the world.

    Raises:
        ValueError: a setting is out of its range.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT  # 0: any that is free
    served_model_name: str | None = None  # what clients call the model; None: as `model` says
    num_tokenizers: int = 1  # processes
    max_queue: int = 1024  # texts that may be on their way at once, waiting ones included
    max_body_bytes: int = 4 * 2**20  # of a request
    body_timeout: float = 60.0  # seconds that a client may take to send its request
    shutdown_grace: float = 10.0  # seconds that running requests get when the server is told to end

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_int(self.port) or not 0 <= self.port < 2**16:
            raise ValueError(f"port must be an integer from 0 to 65535, not {self.port!r}")
        for name in ("num_tokenizers", "max_queue", "max_body_bytes"):
            check_count(name, getattr(self, name))
        for name in ("body_timeout", "shutdown_grace"):
            seconds = getattr(self, name)
            if not is_number(seconds) or not 0 <= seconds < 1e9:
                raise ValueError(f"{name} must be seconds, a number of at least 0, not {seconds!r}")

    @property
    def model_name(self) -> str:
        """What clients call the model."""
        return self.served_model_name or str(self.model)


@dataclass(frozen=True)
class Flag:
    """How a setting of `ServerArgs` is given on the command line."""

    field: str
    names: tuple[str, ...]  # the first one is ours, the others are those of similar servers
    help: str
    parse: Callable[[str], Any] | None = str  # None: a switch


def parse_dtype(text: str) -> torch.dtype | None:
    """A name of `DTYPES`; None for "auto". ArgumentTypeError for any other."""
    if text not in DTYPES:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(DTYPES)}, not {text!r}")
    return DTYPES[text]


def parse_overlap(text: str) -> bool | None:
    """None for "auto". ArgumentTypeError for anything but it, "on" and "off"."""
    choices = {"auto": None, "on": True, "off": False}
    if text not in choices:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(choices)}, not {text!r}")
    return choices[text]


DTYPES = {"auto": None, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}

FLAGS: dict[str, list[Flag]] = {
    "model": [
        Flag(
            "model",
            ("--model", "--model-path"),
            "minisgl-tiny (comes with the package), smollm2, a folder of a Hugging Face checkpoint, a .gguf"
            " file, or a hub id such as Qwen/Qwen3-0.6B (default: minisgl-tiny)",
        ),
        Flag(
            "served_model_name", ("--served-model-name",), "what clients call it (default: as --model says)"
        ),
        Flag(
            "dtype",
            ("--dtype",),
            "float32, float16, bfloat16, or auto: float32 on a CPU, the checkpoint's own on a GPU (default:"
            " auto)",
            parse_dtype,
        ),
        Flag("device", ("--device",), "cpu or cuda (default: cuda where there is a GPU)"),
        Flag(
            "max_seq_len_override",
            ("--max-seq-len", "--max-seq-len-override"),
            "longest sequence, prompt and output together (default: what the model can)",
            int,
        ),
        Flag("seed", ("--seed",), "of requests that bring none (default: 42)", int),
    ],
    "memory": [
        Flag(
            "memory_ratio",
            ("--memory-ratio",),
            "share of the free memory that weights and KV pool may take (default: 0.9)",
            float,
        ),
        Flag("num_page_override", ("--num-pages",), "pages of the KV pool, instead of --memory-ratio", int),
        Flag("page_size", ("--page-size",), "tokens a page (default: 1)", int),
        Flag(
            "cache_type",
            ("--cache-type",),
            "radix: reuse the KV of prefixes that requests share; naive: do not (default: radix)",
        ),
    ],
    "scheduling": [
        Flag(
            "max_running_req",
            ("--max-running-requests",),
            "requests that are computed at once, the others wait (default: 256)",
            int,
        ),
        Flag(
            "max_extend_tokens",
            ("--max-extend-tokens", "--max-prefill-length"),
            "most tokens that one step computes of prompts, longer ones are cut (default: 8192)",
            int,
        ),
        Flag(
            "policy",
            ("--policy",),
            "who is admitted first: fcfs, first come; lpm, who shares the longest prefix (default: fcfs)",
        ),
        Flag(
            "lpm_bound",
            ("--lpm-bound",),
            "steps after which lpm lets nobody pass a waiting request any more (default: 16)",
            int,
        ),
        Flag(
            "admission",
            ("--admission",),
            "worst_case: keep the pages of all that a request may generate; optimistic: only those of its"
            " prompt, and send the latest request back when they run out (default: worst_case)",
        ),
        Flag(
            "watermark",
            ("--watermark",),
            "pages that optimistic admission keeps free (default: 1)",
            int,
        ),
        Flag("mixed", ("--mixed",), "let running requests go on in the steps that compute prompts", None),
        Flag(
            "overlap",
            ("--overlap",),
            "on, off or auto: prepare a step while the one before computes (default: auto, on for a GPU)",
            parse_overlap,
        ),
    ],
    "speed": [
        Flag("attention_backend", ("--attention-backend",), "torch (default: auto, which takes it)"),
    ],
    "server": [
        Flag(
            "host",
            ("--host",),
            "address to listen at; 0.0.0.0 lets other machines in, and there is no password (default:"
            " 127.0.0.1)",
        ),
        Flag("port", ("--port",), f"port to listen at, 0: any that is free (default: {DEFAULT_PORT})", int),
        Flag(
            "num_tokenizers",
            ("--num-tokenizers", "--num-tokenizer"),
            "processes that turn text into tokens (default: 1)",
            int,
        ),
        Flag(
            "max_queue",
            ("--max-queue",),
            "texts that may be on their way at once, more get status 503 (default: 1024)",
            int,
        ),
        Flag(
            "max_body_bytes",
            ("--max-body-bytes",),
            "largest request, a larger one gets status 413 (default: 4194304)",
            int,
        ),
        Flag(
            "body_timeout",
            ("--body-timeout",),
            "seconds that a client may take to send a request (default: 60)",
            float,
        ),
        Flag(
            "shutdown_grace",
            ("--shutdown-grace",),
            "seconds that running requests get when the server is told to end (default: 10)",
            float,
        ),
    ],
}


def make_parser(prog: str, description: str, groups: Sequence[str] = tuple(FLAGS)) -> argparse.ArgumentParser:
    """A parser of the flags of these groups. What is not given is not set."""
    parser = argparse.ArgumentParser(
        prog=prog, usage="%(prog)s [flags]", description=description, allow_abbrev=False
    )
    for title in groups:
        group = parser.add_argument_group(title)
        for flag in FLAGS[title]:
            settings: dict[str, Any] = {"dest": flag.field, "default": argparse.SUPPRESS, "help": flag.help}
            if flag.parse is None:
                settings["action"] = "store_true"
            else:
                settings |= {
                    "type": flag.parse,
                    "metavar": flag.names[0].strip("-").upper().replace("-", "_"),
                }
            group.add_argument(*flag.names, **settings)
    return parser


def make_args(parser: argparse.ArgumentParser, given: dict[str, Any]) -> ServerArgs:
    """The settings, of which these were given. Ends the process with a sentence when one is wrong."""
    given.setdefault("device", "cuda" if torch.cuda.is_available() else "cpu")
    try:
        return ServerArgs(**given)
    except (TypeError, ValueError) as error:
        parser.error(str(error))
