"""The kernels, in Triton. Each file says why it exists; `minisgl.kernel` documents the functions."""

from .activation import silu_and_mul
from .attention import fused_decode_attention
from .balanced import decode_attention
from .inputs import decode_inputs
from .linear import linear_add, norm_gate_up, norm_linear
from .lookup import indexing
from .norm import fused_add_rms_norm, rms_norm
from .rope import apply_rope, qk_norm_rope_store
from .sample import sample_tokens
from .store import store_cache
from .uniforms import gather_sampling

__all__ = [
    "apply_rope",
    "decode_attention",
    "decode_inputs",
    "fused_add_rms_norm",
    "fused_decode_attention",
    "gather_sampling",
    "indexing",
    "linear_add",
    "norm_gate_up",
    "norm_linear",
    "qk_norm_rope_store",
    "rms_norm",
    "sample_tokens",
    "silu_and_mul",
    "store_cache",
]
