"""Reading checkpoints: folders of safetensors files as Hugging Face has them, and GGUF files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from ..utils import read_json
from .config import ModelConfig

NamedTensor = tuple[str, torch.Tensor]
_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"


def load_config(path: Path) -> ModelConfig:
    """The shape of the model in a folder or a GGUF file.

    Raises:
        FileNotFoundError: it is neither.
        ValueError: it is damaged, or a model that this engine cannot serve.
    """
    if path.suffix == ".gguf":
        from .gguf import config_from_gguf

        return config_from_gguf(path)
    return ModelConfig.from_folder(path)


def iter_checkpoint(path: Path, device: torch.device, dtype: torch.dtype) -> Iterator[NamedTensor]:
    """All tensors of a folder or a GGUF file, one at a time, under the names that Hugging Face gives them.

    They are on `device`. Quantized ones become `dtype`; all others are as they are stored.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged or cut short; the message names it.
    """
    if path.suffix == ".gguf":
        from .gguf import iter_gguf

        return iter_gguf(path, device, dtype)
    return iter_safetensors(path, device)


def iter_safetensors(folder: Path, device: torch.device) -> Iterator[NamedTensor]:
    """All tensors of a folder's safetensors files, as they are stored; on the CPU as views of the file.

    Raises:
        FileNotFoundError: there is no such file, or the index names one that is missing.
        ValueError: a file is damaged or cut short, or does not hold what the index says.
    """
    from safetensors import SafetensorError, safe_open

    index, paths = _safetensors_files(folder)
    origin: dict[str, Path] = {}
    for path in paths:
        try:
            with safe_open(path, framework="pt", device=str(device)) as file:
                names = file.keys()
                for name, listed in index.items():
                    if listed == path.name and name not in names:
                        raise ValueError(f"{folder / _INDEX} says that {path} holds {name}: it does not")
                for name in names:
                    if index.get(name, path.name) != path.name:
                        continue  # a leftover: the index says that another file has it
                    if name in origin:
                        raise ValueError(f"both {origin[name]} and {path} hold {name}: remove one of them")
                    origin[name] = path
                    yield name, file.get_tensor(name)
        except SafetensorError as error:
            raise ValueError(f"{path} is damaged or incomplete, fetch it again: {error}") from error


def _safetensors_files(folder: Path) -> tuple[dict[str, str], list[Path]]:
    """Which file each tensor is in, as far as an index says so, and the files to read."""
    index = folder / _INDEX
    if not index.is_file():
        if (folder / _SINGLE).is_file():  # other files may be the same weights in another form
            return {}, [folder / _SINGLE]
        files = sorted(path for path in folder.glob("*.safetensors") if path.is_file())
        if not files:
            has_pickles = any(folder.glob("*.bin")) or any(folder.glob("*.pth"))
            hint = "; its weights are pickled, which is not supported: convert them" if has_pickles else ""
            raise FileNotFoundError(f"{folder} has no .safetensors file{hint}")
        return {}, files
    try:
        file_of: dict[str, str] = dict(read_json(index)["weight_map"])
        names = sorted(set(file_of.values()))
        paths = [folder / name for name in names]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{index} is damaged, fetch it again: {error!r}") from error
    if not paths:
        raise ValueError(f"{index} is damaged, fetch it again: it names no file")
    for name, path in zip(names, paths, strict=True):
        if not path.is_file():
            tensors = sorted(tensor for tensor, file in file_of.items() if file == name)
            raise FileNotFoundError(
                f"{path} is missing; it holds {len(tensors)} tensors, among them {tensors[0]}"
            )
    return file_of, paths
