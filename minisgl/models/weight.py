"""From a checkpoint's tensors to a model's, one at a time, so that memory never holds two copies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch

from .base import BaseLLMModel

_PARTS = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}
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


def load_weights(folder: Path, device: torch.device, dtype: torch.dtype) -> Iterator[NamedTensor]:
    """The tensors of a checkpoint under the names of our models. Raises what its two steps raise."""
    return merge_projections(iter_safetensors(folder, device, dtype))


def column_major(pairs: Iterable[NamedTensor]) -> Iterator[NamedTensor]:
    """The same matrices, laid out so that a CPU multiplies a few float32 rows by them faster.

    With each input feature's column in one piece, a product streams through the matrix and adds; measured on
    an AMD EPYC it takes half the time at batch size 1, where reading the weights is most of the work. In
    bfloat16 the CPU's kernels want the ordinary layout, and are many times slower with this one.
    """
    for name, tensor in pairs:
        yield name, tensor.t().contiguous().t() if tensor.dim() == 2 else tensor


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
