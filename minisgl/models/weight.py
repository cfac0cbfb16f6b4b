"""From a checkpoint's tensors to a model's, one at a time, so that memory never holds two copies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import torch

from ..distributed import DistributedInfo
from ..distributed.info import ONE_RANK
from ..utils import cdiv
from .base import BaseLLMModel

_PARTS = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}
_EXPERT = re.compile(r"(.+\.experts)\.(\d+)\.(gate_up_proj|down_proj)\.weight")
_MERGED_OF = {part: merged for merged, parts in _PARTS.items() for part in parts}

NamedTensor = tuple[str, torch.Tensor]


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


def iter_safetensors(folder: Path, device: torch.device, dtype: torch.dtype) -> Iterator[NamedTensor]:
    """All tensors of a folder's safetensors files, one at a time, by their names in the checkpoint.

    Raises:
        FileNotFoundError: there is no such file, or the index names one that is missing.
        ValueError: a file is damaged or cut short; the message names it.
    """
    from safetensors import SafetensorError, safe_open

    for path in _safetensors_files(folder):
        try:
            with safe_open(path, framework="pt", device=str(device)) as file:
                for name in file.keys():  # noqa: SIM118 - not a dict: it has no iterator of its own
                    yield name, file.get_tensor(name).to(dtype)
        except SafetensorError as error:
            raise ValueError(f"{path} is damaged or incomplete, fetch it again: {error}") from error


def load_weights(
    source: Path | Mapping[str, torch.Tensor],
    device: torch.device,
    dtype: torch.dtype,
    *,
    num_experts: int = 0,
    tp_info: DistributedInfo = ONE_RANK,
    num_kv_heads: int = 1,
) -> Iterator[NamedTensor]:
    """One rank's tensors of a checkpoint, or of a state dict in Hugging Face names, under the names of our
    models.

    Raises what the steps raise.
    """
    if isinstance(source, Path):
        pairs = iter_safetensors(source, device, dtype)
    else:
        pairs = ((name, tensor.to(device, dtype)) for name, tensor in source.items())
    pairs = merge_projections(shard_weights(pairs, tp_info, num_kv_heads))
    return stack_experts(pairs, num_experts)


def column_major(pairs: Iterable[NamedTensor]) -> Iterator[NamedTensor]:
    """The same matrices, laid out so that a CPU multiplies a few float32 rows by them faster.

    With each input feature's column in one piece, a product streams through the matrix and adds; measured on
    an AMD EPYC it takes half the time at batch size 1, where reading the weights is most of the work. In
    bfloat16 the CPU's kernels want the ordinary layout, and are many times slower with this one.
    """
    for name, tensor in pairs:
        yield name, tensor.mT.contiguous().mT if tensor.dim() > 1 else tensor


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
        if not bool(tensor.isfinite().all()):
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


def _safetensors_files(folder: Path) -> list[Path]:
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        files = sorted(path for path in folder.glob("*.safetensors") if path.is_file())
        if not files:
            raise FileNotFoundError(f"{folder} has no .safetensors file")
        return files
    try:
        file_of: dict[str, str] = dict(json.loads(index.read_text(encoding="utf-8"))["weight_map"])
        names = sorted(set(file_of.values()))
        paths = [folder / name for name in names]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{index} is damaged, fetch it again: {error!r}") from error
    for name, path in zip(names, paths, strict=True):
        if not path.is_file():
            tensors = sorted(tensor for tensor, file in file_of.items() if file == name)
            raise FileNotFoundError(
                f"{path} is missing; it holds {len(tensors)} tensors, among them {tensors[0]}"
            )
    return paths
