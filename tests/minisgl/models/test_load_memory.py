"""Loading holds a model once, and beside it the few tensors that are being put together."""

from __future__ import annotations

import json
import weakref
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from minisgl.distributed import DistributedInfo
from minisgl.models.config import ModelConfig
from minisgl.models.tiny import Arch, hf_config_dict, tiny_config, tiny_state_dict
from minisgl.models.weight import load_weights

CPU = torch.device("cpu")


class Allocations(TorchDispatchMode):
    """Counts the bytes of all storages that operators make, until they are freed. Views make none."""

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if not any(result.alias_info for result in func._schema.returns):
            for tensor in tree_leaves(out):
                if isinstance(tensor, torch.Tensor):
                    storage = tensor.untyped_storage()
                    self.live += storage.nbytes()
                    self.peak = max(self.peak, self.live)
                    weakref.finalize(storage, self._freed, storage.nbytes())
        return out

    def _freed(self, nbytes: int) -> None:
        self.live -= nbytes


def test_what_is_counted() -> None:
    with Allocations() as memory:
        a = torch.zeros(1000)
        view = a[10:].view(-1, 2)
        del a
        assert memory.live == 4000, "the view keeps it"
        both = torch.cat((view, view))
        assert (memory.live, memory.peak) == (4000 + 7920, 4000 + 7920)
        del view
        assert memory.live == 7920
        both.add_(1)
        del both
        assert memory.live == 0 and memory.peak == 11920


def write(folder: Path, config: ModelConfig, dtype: torch.dtype) -> int:
    """A checkpoint of three files; the bytes of its largest tensor."""
    weights = {name: tensor.to(dtype) for name, tensor in tiny_state_dict(config, seed=0).items()}
    names = sorted(weights)
    index = {}
    for i in range(3):
        part = {name: weights[name] for name in names[i::3]}
        save_file(part, folder / f"{i}.safetensors")
        index |= dict.fromkeys(part, f"{i}.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    (folder / "config.json").write_text(json.dumps(hf_config_dict(config)))
    return max(tensor.numel() for tensor in weights.values()) * 4


def load(folder: Path, config: ModelConfig, ranks: int = 1) -> tuple[int, int]:
    """Bytes of the loaded model and at the peak, and nothing else is left."""
    with Allocations() as memory:
        pairs = load_weights(
            folder,
            CPU,
            torch.float32,
            num_experts=config.num_experts,
            num_kv_heads=config.num_kv_heads,
            tp_info=DistributedInfo(0, ranks),
            by_columns=True,
        )
        model = dict(pairs)
        size = sum(tensor.nbytes for tensor in model.values())
        del pairs
        assert memory.live <= size, "vectors may be views of the file"
        del model
    assert memory.live == 0
    return size, memory.peak


@pytest.mark.parametrize("arch", ["qwen3", "qwen2", "llama", "qwen3_moe"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_model_is_never_there_twice(arch: Arch, dtype: torch.dtype, tmp_path: Path) -> None:
    """Twelve layers in three files, the parts of a matrix in different ones: as bad as it gets."""
    config = tiny_config(arch, num_layers=12, hidden_size=64, intermediate_size=256, vocab_size=256)
    write(tmp_path, config, dtype)
    size, peak = load(tmp_path, config)
    assert size > 1e6 and peak < 1.15 * size


def test_a_rank_holds_its_share(tmp_path: Path) -> None:
    config = tiny_config("qwen3", num_layers=12, hidden_size=64, intermediate_size=256, vocab_size=256)
    write(tmp_path, config, torch.bfloat16)
    whole, _ = load(tmp_path, config)
    share, peak = load(tmp_path, config, ranks=2)
    assert share < 0.55 * whole and peak < 1.15 * share


def test_experts_are_put_where_they_stay(tmp_path: Path) -> None:
    """Merged first and stacked at the end, the experts of a layer would be there twice."""
    config = tiny_config("qwen3_moe", num_layers=1, num_experts=64, vocab_size=64)
    write(tmp_path, config, torch.float32)
    with Allocations() as memory:
        pairs = load_weights(tmp_path, CPU, torch.float32, num_experts=64)
        size = sum(tensor.nbytes for tensor in [tensor for _, tensor in pairs])
    assert memory.peak < 1.1 * size
