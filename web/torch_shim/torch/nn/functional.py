"""torch.nn.functional: the operations of a transformer's forward."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._absent import missing_attribute
from .._along import log_softmax as _log_softmax
from .._along import softmax as _softmax
from .._along import softmax_np
from .._arith import store
from .._core import Tensor, wrap
from .._dtype import BOOL, FLOAT16, FLOAT32, INT32, INT64, as_shape
from .._index import rows_of
from .._linalg import _same_dtype, linear_np, product
from .._pointwise import erf_np, where

_new = object.__new__
_add_reduce = np.add.reduce


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    x, w = input._a, weight._a
    if x.dtype is not w.dtype:
        _same_dtype(x, w)
    if x.shape[-1] != w.shape[-1]:
        rows = math.prod(x.shape[:-1])
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and"
            f" {w.shape[-1]}x{w.shape[0] if w.ndim > 1 else 1})"
        )
    r = linear_np(x, w)
    if bias is not None:
        r = r + bias._a
    tensor = _new(Tensor)
    tensor._a = r
    return tensor


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: Any = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    i, w = input._a, weight._a
    if i.dtype is not INT32 and i.dtype is not INT64 and i.dtype not in (INT32, INT64):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int;"
            f" but got {input.dtype} instead (while checking arguments for embedding)"
        )
    if w.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if i.size and i.min() < 0:
        raise IndexError("index out of range in self")
    try:
        r = rows_of(w, i)
    except IndexError:
        raise IndexError("index out of range in self") from None
    tensor = _new(Tensor)
    tensor._a = r
    return tensor


def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    x = input._a
    shape = normalized_shape if normalized_shape.__class__ is tuple else as_shape((normalized_shape,))
    n = len(shape)
    if x.shape[x.ndim - n :] != tuple(shape):
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape"
            f" [*, {', '.join(map(str, shape))}], but got input of size{list(x.shape)}"
        )
    if x.dtype is FLOAT32:
        wide = x
    elif x.dtype.kind == "f":
        wide = x.astype(FLOAT32) if x.dtype is FLOAT16 else x
    else:
        raise NotImplementedError(f'"rms_norm" not implemented for {input.dtype}')
    if eps is None:
        eps = float(np.finfo(x.dtype).eps)
    axis = -1 if n == 1 else tuple(range(-n, 0))
    scale = _add_reduce(wide * wide, axis, None, None, True)
    scale *= 1.0 / math.prod(shape)
    scale += eps
    np.sqrt(scale, scale)
    r = wide / scale
    if weight is not None:
        r *= weight._a
    tensor = _new(Tensor)
    tensor._a = r if r.dtype is x.dtype else r.astype(x.dtype)
    return tensor


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    x = input._a
    axis = tuple(range(-len(as_shape((normalized_shape,))), 0))
    centred = x - x.mean(axis, keepdims=True)
    r = centred / np.sqrt((centred * centred).mean(axis, keepdims=True) + x.dtype.type(eps))
    if weight is not None:
        r = r * weight._a
    return wrap(r if bias is None else r + bias._a)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    x = input._a
    r = np.negative(x)
    np.exp(r, r)
    r += 1
    np.divide(x, r, r)
    if inplace:
        store(x, r)
        return input
    tensor = _new(Tensor)
    tensor._a = r if r.__class__ is np.ndarray else np.asarray(r)
    return tensor


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    r = np.maximum(input._a, np.zeros((), input._a.dtype))
    if inplace:
        store(input._a, r)
        return input
    return wrap(r)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    x = input._a
    one = x.dtype.type(1)
    if approximate == "tanh":
        inner = x.dtype.type(math.sqrt(2 / math.pi)) * (x + x.dtype.type(0.044715) * x**3)
        return wrap(x.dtype.type(0.5) * x * (one + np.tanh(inner)))
    return wrap(x.dtype.type(0.5) * x * (one + erf_np(x / x.dtype.type(math.sqrt(2)))))


def sigmoid(input: Tensor) -> Tensor:
    result: Tensor = input.sigmoid()
    return result


def tanh(input: Tensor) -> Tensor:
    return wrap(np.tanh(input._a))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return wrap(np.logaddexp(0, input._a * beta) / beta)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    return where(input > 0, input, input * negative_slope)  # type: ignore[operator,no-any-return]


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    return _softmax(input, -1 if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    return _log_softmax(input, -1 if dim is None else dim, dtype)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if not training or p == 0:
        return input
    from .._random import default_generator

    kept = default_generator.uniform(input._a.size).reshape(input._a.shape) >= p
    return wrap(input._a * kept / input._a.dtype.type(1 - p))


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    result: Tensor = input / input.norm(p, dim, True).clamp_min(eps)  # type: ignore[operator]
    return result


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    a = tensor._a
    if a.dtype != INT64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    count = num_classes if num_classes != -1 else int(a.max()) + 1
    if a.size and (a.min() < 0 or a.max() >= count):
        raise RuntimeError("Class values must be non-negative and smaller than num_classes.")
    return wrap((a[..., None] == np.arange(count)).astype(INT64))


def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    if mode != "constant":
        missing_attribute("torch.nn.functional", f"pad(mode={mode!r})")
    a = input._a
    widths = [(0, 0)] * a.ndim
    for i in range(len(pad) // 2):
        widths[a.ndim - 1 - i] = (pad[2 * i], pad[2 * i + 1])
    if any(n < 0 for pair in widths for n in pair):
        a = a[tuple([slice(-low if low < 0 else 0, high if high < 0 else None) for low, high in widths])]
        widths = [(max(low, 0), max(high, 0)) for low, high in widths]
    return wrap(np.pad(a, widths, constant_values=0 if value is None else value))


def cross_entropy(
    input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    return nll_loss(
        _log_softmax(input, 1 if input._a.ndim > 1 else 0),
        target,
        ignore_index=ignore_index,
        reduction=reduction,
    )


def nll_loss(input: Tensor, target: Tensor, *, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    a, t = input._a, target._a
    if a.ndim == 1:
        a, t = a[None], t.reshape(1)
    used = t != ignore_index
    losses = np.where(used, -a[np.arange(len(a)), np.where(used, t, 0)], a.dtype.type(0))
    if reduction == "none":
        return wrap(losses if input._a.ndim > 1 else losses[0])
    total = losses.sum()
    return wrap(total if reduction == "sum" else total / a.dtype.type(used.sum()))


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    squares = (input - target) ** 2  # type: ignore[operator]
    result: Tensor = squares if reduction == "none" else getattr(squares, reduction)()
    return result


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    one, other = x1._a, x2._a
    lengths = np.sqrt((one * one).sum(dim)) * np.sqrt((other * other).sum(dim))
    return wrap((one * other).sum(dim) / np.maximum(lengths, one.dtype.type(eps)))


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(q k^T scale + mask) v. Of a row that may see nothing, the result is 0."""
    q, k, v = query._a, key._a, value._a
    if not q.dtype == k.dtype == v.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype:"
            f" {query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
        )
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    if q.shape[-1] != k.shape[-1]:
        raise RuntimeError(
            f"query and key must have the same last dimension, got {q.shape[-1]} and {k.shape[-1]}"
        )
    if scale is None:
        scale = q.shape[-1] ** -0.5
    n, group, d = q.shape[-2], 1, q.dtype
    if d is FLOAT16:
        q, k, v = q.astype(FLOAT32), k.astype(FLOAT32), v.astype(FLOAT32)
    if enable_gqa and q.ndim > 2 and q.shape[-3] != k.shape[-3]:
        heads, kv_heads = q.shape[-3], k.shape[-3]
        if heads % kv_heads:
            raise RuntimeError("Number of heads in key and value must divide the number of heads in query")
        group = heads // kv_heads
        # The queries of a group face the same keys: they stand below each other as rows of one product.
        q = q.reshape(*q.shape[:-3], kv_heads, group * n, q.shape[-1])
    try:
        scores = _scores(q, k)
    except ValueError as error:
        raise RuntimeError(f"scaled_dot_product_attention: {error}") from None
    scores *= scale
    keys = k.shape[-2]
    mask = np.tri(n, keys, 0, dtype=BOOL) if is_causal else None if attn_mask is None else attn_mask._a
    if mask is not None and not (mask.dtype is BOOL and mask.all()):
        scores = _masked(scores, mask, n, group)
    probs = softmax_np(scores, -1)
    if mask is not None and np.isnan(probs).any():
        probs = np.where(np.isneginf(scores).all(-1, keepdims=True), probs.dtype.type(0), probs)
    if dropout_p:
        probs = dropout(wrap(probs), dropout_p)._a
    r = _weighted(probs, v)
    if group > 1:
        r = r.reshape(*r.shape[:-3], r.shape[-3] * group, n, r.shape[-1])
    tensor = _new(Tensor)
    tensor._a = r if r.dtype is d else r.astype(d)
    return tensor


def _scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    return product(q, k.swapaxes(-1, -2))


def _weighted(probs: np.ndarray, v: np.ndarray) -> np.ndarray:
    return product(probs, v)


def _masked(scores: np.ndarray, mask: np.ndarray, n: int, group: int) -> np.ndarray:
    """Scores of what may not be seen are -inf; a mask of numbers is added."""
    if group > 1:
        shape = scores.shape
        scores = scores.reshape(*shape[:-2], group, n, shape[-1])
        if mask.ndim > 2:
            per_head = mask.shape[-3]
            mask = (
                mask[..., None, :, :]
                if per_head == 1
                else mask.reshape(*mask.shape[:-3], per_head // group, group, *mask.shape[-2:])
            )
        return _masked(scores, mask, n, 1).reshape(shape)
    if mask.dtype is BOOL:
        return np.where(mask, scores, scores.dtype.type(-math.inf))
    return scores + mask


def __getattr__(name: str) -> Any:
    missing_attribute("torch.nn.functional", name)
