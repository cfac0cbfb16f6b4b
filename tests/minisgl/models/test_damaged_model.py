"""Model folders damaged at random: they load, or the error names what is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from minisgl.engine import Engine, EngineConfig
from minisgl.models.tiny import hf_config_dict, tiny_config, tiny_state_dict

CONFIGS = {
    "dense": tiny_config("llama", num_layers=1, hidden_size=16, intermediate_size=16, vocab_size=32),
    "experts": tiny_config("qwen3_moe", num_layers=1, hidden_size=16, num_experts=3, vocab_size=32),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Model folders of two files with an index."""
    folders = {}
    for kind, config in CONFIGS.items():
        folder = folders[kind] = tmp_path_factory.mktemp(kind)
        (folder / "config.json").write_text(json.dumps(hf_config_dict(config)))
        weights = tiny_state_dict(config, seed=0)
        index = {}
        for i in range(2):
            part = {name: weights[name] for name in sorted(weights)[i::2]}
            save_file(part, folder / f"model-{i}.safetensors")
            index |= dict.fromkeys(part, f"model-{i}.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    return folders


@st.composite
def damages(draw: st.DrawFn) -> Callable[[Path], None]:
    """Something that goes wrong with one file of a folder."""
    kind = draw(
        st.sampled_from(["cut", "grow", "remove", "flip", "flip", "flip front", "flip front", "swap"])
    )
    where, bit, which = draw(st.floats(0, 1)), draw(st.integers(0, 7)), draw(st.integers(0, 3))

    def damage(folder: Path) -> None:
        path = sorted(folder.iterdir())[which]
        content = bytearray(path.read_bytes())
        if kind == "cut":
            content = content[: int(where * (len(content) - 1))]
        elif kind == "grow":
            content += b"\0" * 8
        elif kind == "remove":
            path.unlink()
            return
        elif kind == "swap":
            a, b = folder / "model-0.safetensors", folder / "model-1.safetensors"
            content, other = a.read_bytes(), b.read_bytes()
            a.write_bytes(other)
            path = b
        else:  # the front of a safetensors file describes its tensors
            size = len(content) if kind == "flip" else min(len(content), 2000)
            content[int(where * (size - 1))] ^= 1 << bit
        path.write_bytes(content)

    return damage


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(sorted(CONFIGS)), damage=damages())
def test_damage_is_named(
    kind: str, damage: Callable[[Path], None], whole: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole[kind], folder)
    damage(folder)
    try:
        engine = Engine(EngineConfig(model=folder, num_page_override=8, max_running_req=1))
    except (ValueError, FileNotFoundError) as error:
        tensors = tiny_state_dict(CONFIGS[kind], seed=0)
        merged = [name.replace("up_proj", "gate_up_proj").replace("q_proj", "qkv_proj") for name in tensors]
        stacked = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
        known = [str(folder), *tensors, *merged, *stacked]
        assert any(name in str(error) for name in known), error
    else:
        assert all(weight.isfinite().all() for weight in engine.model.state_dict().values())
