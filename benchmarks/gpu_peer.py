"""The peer: continuous batching of transformers, compiled, in CUDA graphs, 16,384 tokens a batch.

    python benchmarks/gpu_peer.py [--repeats 3] [--limit SECONDS] [--output FILE.json]

A process of its own, so that its hanging is nobody else's: past the limit it says where each of its threads
stands, and ends. The file is written anew after every run, so what was measured until then is in it.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib.util
import json
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch
from gpu_workload import Weights, Workload, public_set, qwen3_06b, random_weights, single_request

from minisgl.models import ModelConfig
from minisgl.models.tiny import hf_config_dict

MAX_BATCH_TOKENS = 16384
NUM_BLOCKS = 3072  # of 256 tokens: half as many again as 256 requests of 8 blocks could fill


def provide_flash_attn() -> str:
    """Let transformers find flash-attn: the package, or what stands in for it here. Before its import."""
    if importlib.util.find_spec("flash_attn") is not None:
        return "flash-attn"
    folder = Path(tempfile.mkdtemp(prefix="flash_attn_stand_in_"))
    package, info = folder / "flash_attn", folder / "flash_attn-2.8.3.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text("from flash_attn_stand_in import *\n")
    (package / "bert_padding.py").write_text("pad_input = unpad_input = None\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: flash-attn\nVersion: 2.8.3\n")
    (info / "top_level.txt").write_text("flash_attn\n")
    (info / "RECORD").write_text("flash_attn/__init__.py,,\nflash_attn/bert_padding.py,,\n")
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    return "torch's FlashAttention 2, and this engine's decode kernel"


class Peer:
    """A running manager of continuous batching, warmed up, to be used in a `with` block."""

    def __init__(
        self,
        config: ModelConfig,
        weights: Weights,
        device: str = "cuda",
        attention: str = "flash_attention_2",
    ) -> None:
        self.attention = provide_flash_attn() if attention == "flash_attention_2" else attention
        import transformers
        from transformers import AutoConfig, AutoModelForCausalLM, ContinuousBatchingConfig, GenerationConfig

        settings = hf_config_dict(config)
        hf_config = AutoConfig.for_model(settings.pop("model_type"), **settings)
        with torch.device(device):
            model = AutoModelForCausalLM.from_config(
                hf_config, dtype=config.dtype, attn_implementation=attention
            )
        model.load_state_dict(weights, strict=False)
        self.version = transformers.__version__
        self._context = model.eval().continuous_batching_context_manager(
            generation_config=GenerationConfig(do_sample=False, eos_token_id=-1, max_new_tokens=1024),
            continuous_batching_config=ContinuousBatchingConfig(
                max_batch_tokens=MAX_BATCH_TOKENS if device == "cuda" else 256,
                num_blocks=NUM_BLOCKS if device == "cuda" else 64,
                max_requests_per_batch=256 if device == "cuda" else 8,
                max_blocks_per_request=8,  # of 256 tokens
                allow_block_sharing=False,
                default_compile_level=1 if device == "cuda" else 0,
            ),
        )

    def __enter__(self) -> Self:
        start = time.perf_counter()
        self._manager: Any = self._context.__enter__()
        self._run([[3 + j for j in range(100 + i)] for i in range(256)], [16] * 256)
        seconds = time.perf_counter() - start
        print(
            f"  transformers {self.version} ready after {seconds:.1f} s, attention: {self.attention}",
            flush=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._context.__exit__(kind, error, trace)

    def run(self, work: Workload, repeats: int) -> list[float]:
        """Seconds of each repeat."""
        return [self._run(work.prompts, work.output_lens)[0] for _ in range(repeats)]

    def _run(self, prompts: list[list[int]], output_lens: list[int]) -> tuple[float, list[list[int]]]:
        start = time.perf_counter()
        ids = [
            self._manager.add_request(prompt, max_new_tokens=n)
            for prompt, n in zip(prompts, output_lens, strict=True)
        ]
        tokens: dict[str, list[int]] = {}
        while len(tokens) < len(ids):
            result = self._manager.get_result(timeout=1)
            if result is not None and result.is_finished():
                if result.error is not None:
                    raise RuntimeError(f"transformers failed: {result.error}")
                tokens[result.request_id] = result.generated_tokens
            elif result is None:
                error = self._manager.background_thread_status.fatal_error
                if error is not None or not self._manager.is_running():
                    raise RuntimeError("transformers' generation thread has ended") from error
        seconds = time.perf_counter() - start
        assert [len(tokens[i]) for i in ids] == output_lens
        return seconds, [tokens[i] for i in ids]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    faulthandler.dump_traceback_later(args.limit, exit=True)
    config = qwen3_06b()
    with Peer(config, random_weights(config, "cuda")) as peer:
        seconds: dict[str, list[float]] = {}
        report = {"version": peer.version, "attention": peer.attention, "seconds": seconds}
        for work in (public_set(), single_request()):
            for _ in range(args.repeats):
                seconds.setdefault(work.name, []).extend(peer.run(work, 1))
                print(
                    f"  peer, {work.name}: {work.output_tokens / seconds[work.name][-1]:.0f} token/s",
                    flush=True,
                )
                if args.output:
                    args.output.write_text(json.dumps(report))


if __name__ == "__main__":
    main()
