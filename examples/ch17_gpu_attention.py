"""Chapter 17: what attention kernels want: a backend for each phase, page numbers, work that can be split.

On a GPU it also compares FlashInfer and FlashAttention, where they are installed.

    python examples/ch17_gpu_attention.py
"""

from typing import Any

import torch

from minisgl.attention import HybridBackend, merge_states
from minisgl.attention.fa import page_ids
from minisgl.core import Batch, SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict


class Counted:
    """A backend that counts the batches it prepares, and is otherwise the one it holds."""

    def __init__(self, backend: Any) -> None:
        self.backend, self.batches = backend, 0

    def prepare_metadata(self, batch: Batch) -> None:
        self.batches += 1
        self.backend.prepare_metadata(batch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Output [heads, head_dim] of one query over keys [m, heads, head_dim], and its log-sum-exp [heads]."""
    scores = torch.einsum("hd,mhd->hm", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("hm,mhd->hd", scores.softmax(dim=-1), v), scores.logsumexp(dim=-1)


def main() -> None:
    config = tiny_config()
    llm = LLM((config, tiny_state_dict(config, seed=0)), num_page_override=64, attention_backend="torch")
    prefill, decode = Counted(llm.engine.attn_backend), Counted(llm.engine.attn_backend)
    llm.engine.attn_backend = llm.engine.ctx.attn_backend = HybridBackend(prefill, decode)
    llm.generate([prompt(0, 5)], SamplingParams(max_tokens=8, ignore_eos=True))
    print(f"prefill batches {prefill.batches}, decode batches {decode.batches}")

    page_table = torch.tensor([[0] * 8, [8, 9, 10, 11, 20, 21, 22, 23]], dtype=torch.int32)
    print("page ids", page_ids(page_table, torch.tensor([1]), 7, page_size=4)[0].tolist())

    torch.manual_seed(0)
    q, k, v = torch.randn(4, 16), *torch.randn(2, 40, 4, 16).unbind()
    whole, _ = attend(q, k, v)
    (o1, lse1), (o2, lse2) = attend(q, k[:23], v[:23]), attend(q, k[23:], v[23:])
    merged, _ = merge_states(o1[None], lse1[None], o2[None], lse2[None])
    print("split equals whole:", bool((merged[0] - whole).abs().max() < 1e-6))

    if torch.cuda.is_available():
        tokens = {}
        for backend in ("fi", "fa"):
            try:
                gpu = LLM("minisgl-tiny", device="cuda", num_page_override=256, attention_backend=backend)
            except ImportError as error:
                print(f"{backend}: {error}")
                continue
            tokens[backend] = gpu.generate(["The capital of France is"], SamplingParams(max_tokens=8))
            gpu.shutdown()
        if len(tokens) == 2:
            print("fi, fa agree:", tokens["fi"][0]["token_ids"] == tokens["fa"][0]["token_ids"])


if __name__ == "__main__":
    main()
