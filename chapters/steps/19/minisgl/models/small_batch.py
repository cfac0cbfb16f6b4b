"""The decoder's forward for the few tokens of a small decode batch, in five kernels a layer instead of eight.

At batch size 1 a step reads every weight once and computes next to nothing. What it takes beyond the reading
are kernels that wait for each other: about 2 us each, 28 layers, 8 kernels a layer. So here each matrix
product takes in what stands before it (the norm), and behind it (the gate, the addition to the residual
stream).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F

from .. import kernel
from ..core import Batch
from ..distributed import get_tp_info
from .config import ModelConfig

if TYPE_CHECKING:
    from .decoder import DecoderForCausalLM


def is_plain(config: ModelConfig) -> bool:
    """Whether the kernels of `forward` cover a model: one rank holds it whole, and it has no biases
    behind attention and in the feed-forward network.
    """
    return get_tp_info().size == 1 and not (config.o_bias or config.mlp_bias)


def is_small(model: DecoderForCausalLM, batch: Batch) -> bool:
    """Whether `forward` computes this batch: a few decodes on a GPU."""
    few = batch.is_decode and batch.padded_size <= kernel.MAX_SMALL_BATCH
    return few and model.is_plain and kernel.use_triton(batch.input_ids)


def forward(model: DecoderForCausalLM, input_ids: torch.Tensor) -> torch.Tensor:
    """Token ids, int [N], one a request, to logits [N, vocab_size]."""
    decoder = model.model
    x = kernel.indexing(decoder.embed_tokens.weight, input_ids)  # the residual stream
    for layer in decoder.layers:
        attn, mlp, norm = layer.self_attn, layer.mlp, layer.input_layernorm
        qkv = kernel.norm_linear(x, norm.weight, norm.eps, attn.qkv_proj.weight, attn.qkv_proj.bias)
        x = kernel.linear_add(attn.attn.forward(qkv), attn.o_proj.weight, x)
        norm = layer.post_attention_layernorm
        hidden = kernel.norm_gate_up(x, norm.weight, norm.eps, mlp.gate_up_proj.weight)
        x = kernel.linear_add(hidden, mlp.down_proj.weight, x)
    norm = decoder.norm
    if len(x) == 1:
        return kernel.norm_linear(x, norm.weight, norm.eps, model.lm_head.matrix)
    # The output matrix is large enough for a library to be as fast, and faster from two tokens on.
    return F.linear(kernel.rms_norm(x, norm.weight, norm.eps), model.lm_head.matrix)
