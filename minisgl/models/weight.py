"""From a checkpoint's tensors to a model's, one at a time, so that memory never holds two copies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import torch

from ..distributed import DistributedInfo
from ..distributed.info import ONE_RANK
from ..utils import cdiv
from .base import BaseLLMModel
from .checkpoint import NamedTensor, iter_checkpoint

_PARTS = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}
_EXPERT = re.compile(r"(.+\.experts)\.(\d+)\.(gate_up_proj|down_proj)\.weight")
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


def stack_experts(pairs: Iterable[NamedTensor], num_experts: int) -> Iterator[NamedTensor]:
    """Put the matrices of each layer's experts, `experts.<i>.down_proj.weight`, into one `experts.down_proj`.

    The stack, [num_experts, ...], is made when the first of them comes, and each is copied to its place at
    once: a layer's experts are never there twice. Every other pair passes at once.

    Raises:
        ValueError: an expert is missing, one too many, or of another shape; the message names it.
    """
    stacks: dict[str, tuple[torch.Tensor, set[int]]] = {}  # and the experts that are still to come
    for name, tensor in pairs:
        match = _EXPERT.fullmatch(name)
        if match is None:
            yield name, tensor
            continue
        stack_name, expert = f"{match[1]}.{match[3]}", int(match[2])
        if expert >= num_experts:
            raise ValueError(f"the checkpoint holds {name}, but the config has {num_experts} experts")
        if stack_name not in stacks:
            stacks[stack_name] = tensor.new_empty((num_experts, *tensor.shape)), set(range(num_experts))
        stack, missing = stacks[stack_name]
        if tensor.shape != stack.shape[1:]:
            raise ValueError(
                f"{name} has the shape {tuple(tensor.shape)}, other experts {tuple(stack.shape[1:])}"
            )
        stack[expert] = tensor
        missing.discard(expert)
        if not missing:
            del stacks[stack_name]
            yield stack_name, stack
    if stacks:
        lacking = [f"{name} (experts {_ranges(missing)})" for name, (_, missing) in sorted(stacks.items())]
        raise ValueError(f"the checkpoint is incomplete: parts are missing of {'; '.join(lacking)}")


def _ranges(numbers: Iterable[int]) -> str:
    """1, 2, 3, 7 as "1-3, 7"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _shard_tensor(key: str, value: torch.Tensor, rank: int, size: int, num_kv_heads: int) -> torch.Tensor:
    """What one of `size` ranks keeps of a tensor of a checkpoint.

    Queries, keys, values, gate and up are cut by output, what follows them by input, in equal parts; the
    vocabulary in ranges that are filled up with zeros; every rank has the rest whole. With fewer key/value
    heads than ranks, neighbouring ranks keep the same head.

    Args:
        key: the tensor's name in the checkpoint.

    Returns:
        A tensor with memory of its own, so that the whole one can go; `value` itself where nothing is cut.

    Raises:
        ValueError: equal parts are not possible; the message names the tensor.
    """
    if size == 1:
        return value
    parts = set(key.split("."))
    if parts & {"k_proj", "v_proj"} and num_kv_heads < size:
        return _part(key, value, 0, rank * num_kv_heads // size, num_kv_heads)
    if parts & {"q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"}:
        return _part(key, value, 0, rank, size)
    if parts & {"o_proj", "down_proj"} and value.dim() > 1:
        return _part(key, value, 1, rank, size)
    if parts & {"embed_tokens", "lm_head"}:
        rows = cdiv(len(value), size)
        own = value[rank * rows : (rank + 1) * rows]
        shard = value.new_zeros((rows, *value.shape[1:]))
        shard[: len(own)] = own
        return shard
    return value


def _part(key: str, value: torch.Tensor, dim: int, index: int, count: int) -> torch.Tensor:
    """A copy of one of `count` equal parts of a dimension."""
    if value.shape[dim] % count:
        raise ValueError(f"{key}: shape {tuple(value.shape)} cannot be cut into {count} parts evenly")
    length = value.shape[dim] // count
    return value.narrow(dim, index * length, length).clone()


def shard_weights(
    pairs: Iterable[NamedTensor], tp_info: DistributedInfo, num_kv_heads: int
) -> Iterator[NamedTensor]:
    """This rank's shares of a checkpoint's tensors, one at a time: no more than one is there whole."""
    for name, tensor in pairs:
        shard = _shard_tensor(name, tensor, tp_info.rank, tp_info.size, num_kv_heads)
        del tensor  # before the next one is read
        yield name, shard


def load_weights(
    source: Path | Mapping[str, torch.Tensor],
    device: torch.device,
    dtype: torch.dtype,
    *,
    num_experts: int = 0,
    tp_info: DistributedInfo = ONE_RANK,
    num_kv_heads: int = 1,
    by_columns: bool = False,
) -> Iterator[NamedTensor]:
    """One rank's tensors of a checkpoint, under the names of our models.

    Args:
        source: a folder, a GGUF file, or a state dict in Hugging Face names.
        device, dtype: of the results.
        num_kv_heads: of the whole model.
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
    pairs = shard_weights(_checked(pairs, origin), tp_info, num_kv_heads)
    pairs = stack_experts(merge_projections(pairs), num_experts)
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
    the matrix and adds; measured on an AMD EPYC with MKL it takes half the time at batch size 1, where
    reading the weights is most of the work. In bfloat16 the CPU's kernels want rows in one piece, and are
    many times slower otherwise.
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
