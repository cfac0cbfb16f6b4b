"""Chapter 3: one decoder for three architectures, and the same logits as transformers.

There is no KV pool yet: a plain attention over the whole prompt stands in.

    python examples/ch03_models.py
"""

import tempfile
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.nn.functional as F
import transformers

from minisgl.core import Batch, Context, Req, SamplingParams, reset_global_ctx, set_global_ctx
from minisgl.models import ModelConfig, create_model, fill_model, load_weights
from minisgl.models.tiny import hf_config_dict, prompt, tiny_config, tiny_state_dict


class PlainAttention:
    """Attention without a cache: every token sees itself and those before it."""

    def __init__(self, head_dim: int) -> None:
        self.scale = head_dim**-0.5

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer_id: int, batch: Batch
    ) -> torch.Tensor:
        q, k, v = (x.transpose(0, 1) for x in (q, k, v))  # [heads, N, head_dim]
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale, enable_gqa=True)
        return out.transpose(0, 1).contiguous()


def logits_of(model_folder: Path, ids: list[int]) -> tuple[set[str], torch.Tensor]:
    """Weight names of our model, and the logits of the prompt's last token, [vocab_size]."""
    device, dtype = torch.device("cpu"), torch.float32
    config = ModelConfig.from_folder(model_folder)
    model = create_model(config, device, dtype)
    pairs = load_weights(model_folder, device, dtype)
    fill_model(model, pairs, tied=config.tie_word_embeddings, origin=str(model_folder))

    req = Req(torch.tensor(ids, dtype=torch.int32), 0, 0, 1, 0, SamplingParams(max_tokens=1), None)
    batch = Batch([req], "prefill")
    batch.input_ids, batch.positions = req.input_ids, torch.arange(len(ids), dtype=torch.int32)
    batch.attn_metadata = SimpleNamespace(get_last_indices=lambda bs: torch.tensor([len(ids) - 1]))
    ctx = Context(page_size=1)
    ctx.attn_backend = PlainAttention(config.head_dim)
    set_global_ctx(ctx)
    with ctx.forward_batch(batch), torch.inference_mode():
        logits = model.forward()
    reset_global_ctx()
    return set(model.state_dict()), logits[0]


def merged(name: str) -> str:
    """Our name for a checkpoint's tensor."""
    for part, whole in {"q": "qkv", "k": "qkv", "v": "qkv", "gate": "gate_up", "up": "gate_up"}.items():
        name = name.replace(f".{part}_proj.", f".{whole}_proj.")
    return name


def main() -> None:
    transformers.utils.logging.disable_progress_bar()  # of a few kilobytes
    ids = prompt(0, 12)
    for arch in ("llama", "qwen2", "qwen3"):
        config = tiny_config(arch)
        weights = tiny_state_dict(config, seed=0)
        hf_config = transformers.AutoConfig.for_model(**hf_config_dict(config))
        hf_model = transformers.AutoModelForCausalLM.from_config(
            hf_config, attn_implementation="eager"
        ).eval()
        hf_model.load_state_dict(weights, strict=False)  # the head is the embedding
        with tempfile.TemporaryDirectory() as folder:
            hf_model.save_pretrained(folder)
            names, logits = logits_of(Path(folder), ids)
        with torch.inference_mode():
            expected = hf_model(torch.tensor([ids])).logits[0, -1]
        print(
            f"{arch}:",
            f"keys equal: {names == {merged(name) for name in weights}},",
            f"max |logit difference| <= 1e-5: {bool((logits - expected).abs().max() <= 1e-5)}",
        )


if __name__ == "__main__":
    main()
