"""From a checkpoint's tensors to a model's, one at a time, so that memory never holds two copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import torch

from .base import BaseLLMModel
from .checkpoint import NamedTensor, iter_checkpoint

_PARTS = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}
_MERGED_OF = {part: merged for merged, parts in _PARTS.items() for part in parts}
_DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


def merge_projections(pairs: Iterable[NamedTensor]) -> Iterator[NamedTensor]:
    """Join the q, k, v and the gate, up matrices of each layer along their outputs, in this order.

    A merged tensor is yielded as soon as its last part has arrived, and the parts are forgotten; every other
    pair passes at once. Weights and biases are merged apart.

    Raises:
        ValueError: at the end, parts are still missing, or parts do not fit together; the message names them.
    """
    waiting: dict[str, dict[str, torch.Tensor]] = {}
    for name, tensor in pairs:
        part = next((word for word in name.split(".")[1:-1] if word in _MERGED_OF), None)
        if part is None:
            yield name, tensor
            continue
        merged = _MERGED_OF[part]
        full_name = name.replace(f".{part}.", f".{merged}.")
        group = waiting.setdefault(full_name, {})
        group[part] = tensor
        if len(group) == len(_PARTS[merged]):
            del waiting[full_name]
            try:
                joined = torch.cat([group[p] for p in _PARTS[merged]], dim=0)
            except RuntimeError as error:
                raise ValueError(f"the parts of {full_name} do not fit together: {error}") from error
            del group, tensor  # whoever takes the whole may need the memory of the parts
            yield full_name, joined
    if waiting:
        lacking = [f"{name} (has only {', '.join(sorted(group))})" for name, group in sorted(waiting.items())]
        raise ValueError(f"the checkpoint is incomplete: parts are missing of {'; '.join(lacking)}")


def load_weights(
    source: Path | Mapping[str, torch.Tensor],
    device: torch.device,
    dtype: torch.dtype,
    *,
    by_columns: bool = False,
) -> Iterator[NamedTensor]:
    """The tensors of a checkpoint under the names of our models.

    Args:
        source: a folder, a GGUF file, or a state dict in Hugging Face names.
        device, dtype: of the results.
        by_columns: see `lay_out`.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: something is wrong with the checkpoint, or it does not fit into memory.
    """
    if isinstance(source, Path):
        pairs, origin = iter_checkpoint(source, device, dtype), str(source)
    else:
        pairs, origin = (
            ((name, tensor.detach().to(device)) for name, tensor in source.items()),
            "the state dict",
        )
    pairs = merge_projections(_checked(pairs, origin))
    return _say_where(lay_out(pairs, dtype, by_columns=by_columns), origin)


def _say_where(pairs: Iterable[NamedTensor], origin: str) -> Iterator[NamedTensor]:
    """The same pairs. Errors name the checkpoint that they come from."""
    try:
        yield from pairs
    except ValueError as error:
        if origin in str(error):
            raise
        raise ValueError(f"{origin}: {error}") from error
    except RuntimeError as error:  # torch's, as a rule for lack of memory
        raise ValueError(f"{origin} could not be loaded: {error}") from error


def _checked(pairs: Iterable[NamedTensor], origin: str) -> Iterator[NamedTensor]:
    """The same pairs. ValueError for numbers that mean nothing without a scale that stands elsewhere."""
    for name, tensor in pairs:
        if tensor.dtype not in _DTYPES:
            raise ValueError(
                f"{origin}: {name} is {tensor.dtype}, as in a quantized checkpoint: take the unquantized one"
            )
        yield name, tensor


def lay_out(pairs: Iterable[NamedTensor], dtype: torch.dtype, *, by_columns: bool) -> Iterator[NamedTensor]:
    """The same tensors in another dtype, and matrices by columns if that is wanted.

    With each input feature's column in one piece, a product of a few float32 rows on a CPU streams through
    the matrix and adds; measured on an AMD EPYC it takes half the time at batch size 1, where reading the
    weights is most of the work. In bfloat16 the CPU's kernels want rows in one piece, and are many times
    slower otherwise.
    """
    for name, tensor in pairs:
        if by_columns and tensor.dim() > 1:
            # Changing dtype and layout in one pass: fresh memory is what loading spends its time on.
            result = torch.empty(tensor.mT.shape, dtype=dtype, device=tensor.device).mT
            yield name, result.copy_(tensor)
        else:
            yield name, tensor.to(dtype)


def fill_model(model: BaseLLMModel, pairs: Iterable[NamedTensor], *, tied: bool, origin: str) -> None:
    """Give a model its weights.

    Args:
        pairs: weights under our names, in the model's dtype.
        tied: the head is the embedding; a copy of it in the checkpoint is ignored.
        origin: where the weights come from, for messages.

    Raises:
        ValueError: a tensor is missing, of the wrong shape, unknown, or holds what is no finite number; the
            message names it.
    """
    ignored = {"lm_head.weight"} if tied else set()
    state: dict[str, torch.Tensor] = {}
    for name, tensor in pairs:
        # Old Llama checkpoints carry the rotary table, which is computed here.
        if name in ignored or name.endswith(".rotary_emb.inv_freq"):
            continue
        if not _is_finite(tensor):
            raise ValueError(
                f"{origin}: {name} holds NaN or infinity as {tensor.dtype}; damaged, or needs another dtype"
            )
        state[name] = tensor
    try:
        model.load_state_dict(state)
    except KeyError as error:
        raise ValueError(f"{origin} lacks the tensor {error.args[0]}: is it complete?") from error
    except (ValueError, RuntimeError) as error:
        raise ValueError(f"{origin} does not fit its config: {error}") from error


def _is_finite(tensor: torch.Tensor) -> bool:
    """Whether all numbers are finite. Looking at each takes ten times as long as adding them up."""
    # A sum is finite only if all terms are. If they are so large that it is not, each is looked at.
    return bool(tensor.sum().isfinite()) or bool(tensor.isfinite().all())
