"""Merging, streaming, and what a bad checkpoint is told."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from minisgl.engine import Engine, EngineConfig
from minisgl.models import cache_folder, merge_projections, resolve_model
from minisgl.models.tiny import hf_config_dict, prompt, tiny_config, tiny_state_dict
from minisgl.models.weight import lay_out, load_weights

CPU = torch.device("cpu")


def parts(prefix: str, kind: str = "weight") -> dict[str, torch.Tensor]:
    sizes = {"q": 4, "k": 2, "v": 2}
    return {f"{prefix}.{part}_proj.{kind}": torch.rand(size, 3) for part, size in sizes.items()}


def test_parts_are_joined_in_the_models_order() -> None:
    given = parts("layers.0.attn")
    q, k, v = given.values()
    shuffled = [(name, given[name]) for name in sorted(given, reverse=True)]
    [(name, merged)] = merge_projections(shuffled)
    assert name == "layers.0.attn.qkv_proj.weight"
    assert torch.equal(merged, torch.cat((q, k, v)))


def test_gate_comes_before_up() -> None:
    gate, up = torch.rand(2, 3), torch.rand(2, 3)
    [(name, merged)] = merge_projections([("m.up_proj.weight", up), ("m.gate_proj.weight", gate)])
    assert name == "m.gate_up_proj.weight" and torch.equal(merged, torch.cat((gate, up)))


def test_others_pass_at_once_and_merged_ones_as_soon_as_complete() -> None:
    log: list[str] = []
    given = [*parts("a").items(), ("norm.weight", torch.rand(3)), *parts("b").items()]

    def pull() -> Iterator[tuple[str, torch.Tensor]]:
        for name, tensor in given:
            log.append(f"pull {name}")
            yield name, tensor

    for name, tensor in merge_projections(pull()):
        log.append(f"yield {name}")
        if name == "norm.weight":
            assert tensor is given[3][1]
    assert log[2:6] == [
        "pull a.v_proj.weight",
        "yield a.qkv_proj.weight",
        "pull norm.weight",
        "yield norm.weight",
    ]
    assert log[-1] == "yield b.qkv_proj.weight"


def test_layers_and_biases_are_merged_apart() -> None:
    given = [*parts("0").items(), *parts("1").items(), *parts("0", "bias").items()]
    random.Random(0).shuffle(given)
    merged = dict(merge_projections(given))
    assert set(merged) == {"0.qkv_proj.weight", "1.qkv_proj.weight", "0.qkv_proj.bias"}


def test_missing_part() -> None:
    given = parts("layers.3.attn")
    del given["layers.3.attn.v_proj.weight"]
    with pytest.raises(ValueError, match=r"layers\.3\.attn\.qkv_proj\.weight \(has only k_proj, q_proj\)"):
        list(merge_projections(given.items()))


def test_parts_that_do_not_fit() -> None:
    given = parts("a") | {"a.k_proj.weight": torch.rand(2, 5)}
    with pytest.raises(ValueError, match=r"a\.qkv_proj\.weight"):
        list(merge_projections(given.items()))


@pytest.mark.parametrize("stored", [torch.float32, torch.bfloat16])
def test_matrices_by_columns(stored: torch.dtype) -> None:
    given = {
        "a": torch.rand(3, 5).to(stored),
        "b": torch.rand(4).to(stored),
        "c": torch.rand(2, 3, 5).to(stored),
    }
    laid_out = dict(lay_out(given.items(), torch.float32, by_columns=True))
    assert all(torch.equal(laid_out[name], given[name].float()) for name in given)
    assert laid_out["a"].mT.is_contiguous() and laid_out["c"].mT.is_contiguous()
    laid_out = dict(lay_out(given.items(), stored, by_columns=False))
    assert all(laid_out[name] is given[name] for name in given)


CONFIG = tiny_config(tie_word_embeddings=False)
WEIGHTS = tiny_state_dict(CONFIG, seed=0)


def write_model(folder: Path, shards: int = 1, skip: str | None = None) -> dict[str, torch.Tensor]:
    """A model folder whose tensors are spread over shards in random order."""
    names = [name for name in WEIGHTS if name != skip]
    random.Random(1).shuffle(names)
    (folder / "config.json").write_text(json.dumps(hf_config_dict(CONFIG)))
    files = {f"model-{i}.safetensors": names[i::shards] for i in range(shards)}
    for file, members in files.items():
        save_file({name: WEIGHTS[name] for name in members}, folder / file)
    if shards > 1:
        index = {"weight_map": {name: file for file, members in files.items() for name in members}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return WEIGHTS


def load(folder: Path) -> Engine:
    return Engine(EngineConfig(model=folder, num_page_override=8, max_running_req=1))


@pytest.mark.parametrize("shards", [1, 3])
def test_folder_equals_memory(tmp_path: Path, shards: int) -> None:
    write_model(tmp_path, shards)
    memory = Engine(EngineConfig(model=(CONFIG, WEIGHTS), num_page_override=8, max_running_req=1))
    folder = load(tmp_path)
    assert folder.model_path == tmp_path and memory.model_path is None
    ours, theirs = folder.model.state_dict(), memory.model.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_tied_copy_and_old_rotary_table_are_ignored() -> None:
    config = tiny_config()
    weights = tiny_state_dict(config, 0)
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    weights["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.rand(8)
    engine = Engine(EngineConfig(model=(config, weights), num_page_override=8, max_running_req=1))
    assert sum(w.numel() for w in engine.model.state_dict().values()) == 106880


@pytest.mark.parametrize(
    "name", ["model.layers.1.mlp.up_proj.weight", "model.layers.0.input_layernorm.weight", "lm_head.weight"]
)
def test_missing_tensor_is_named(tmp_path: Path, name: str) -> None:
    write_model(tmp_path, skip=name)
    expected = name.replace(".up_proj", ".gate_up_proj").replace(".", r"\.")
    with pytest.raises(ValueError, match=expected):
        load(tmp_path)


def test_unknown_and_misshapen_tensors_are_named() -> None:
    for extra, message in (
        ({"model.extra.weight": torch.rand(1)}, r"model\.extra\.weight"),
        ({"model.norm.weight": torch.rand(65)}, r"model\.norm\.weight: expected .*\(64,\), got .*\(65,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            Engine(EngineConfig(model=(CONFIG, {**WEIGHTS, **extra}), num_page_override=8))


def test_missing_shard_and_damaged_files(tmp_path: Path) -> None:
    write_model(tmp_path, shards=2)
    shard = tmp_path / "model-1.safetensors"
    whole = shard.read_bytes()
    shard.unlink()
    with pytest.raises(FileNotFoundError, match=r"model-1\.safetensors is missing; it holds \d+ tensors"):
        load(tmp_path)
    for damaged in (whole[: len(whole) // 2], b"", b"\xff" * 64):
        shard.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"model-1\.safetensors is damaged"):
            load(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(ValueError, match=r"index\.json is damaged"):
        load(tmp_path)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"weight_map": 3}', '{"weight_map": ["a"]}', '{"weight_map": {"a": 3}}']
)
def test_damaged_index(tmp_path: Path, text: str) -> None:
    write_model(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(ValueError, match=r"index\.json is damaged, fetch it again"):
        load(tmp_path)


def test_an_index_may_name_a_file_elsewhere_that_is_missing(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../x.safetensors"}}')
    with pytest.raises(
        FileNotFoundError, match=r"x\.safetensors is missing; it holds 1 tensors, among them a"
    ):
        load(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("name", ["model.embed_tokens.weight", "model.layers.0.mlp.up_proj.weight"])
def test_weights_that_are_no_numbers_are_named(name: str, value: float) -> None:
    weights = {key: tensor.clone() for key, tensor in WEIGHTS.items()}
    weights[name].view(-1)[-1] = value
    expected = name.replace(".up_proj", ".gate_up_proj").replace(".", r"\.")
    with pytest.raises(ValueError, match=f"{expected} holds NaN or infinity as torch.float32"):
        Engine(EngineConfig(model=(CONFIG, weights), num_page_override=8))


def test_weights_too_large_for_the_dtype_are_named() -> None:
    weights = {**WEIGHTS, "model.norm.weight": torch.full((64,), 1e6)}
    with pytest.raises(ValueError, match=r"model\.norm\.weight holds NaN or infinity as torch\.float16"):
        Engine(EngineConfig(model=(CONFIG, weights), num_page_override=8, dtype=torch.float16))


def test_large_weights_are_no_infinity() -> None:
    """Their sum is, though."""
    weights = {**WEIGHTS, "model.norm.weight": torch.full((64,), 3e38)}
    Engine(EngineConfig(model=(CONFIG, weights), num_page_override=8))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.float8_e4m3fn])
def test_weights_that_need_a_scale_are_refused(dtype: torch.dtype, tmp_path: Path) -> None:
    name = "model.layers.1.mlp.down_proj.weight"
    weights = {**WEIGHTS, name: torch.zeros_like(WEIGHTS[name]).to(dtype)}
    save_file(weights, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(hf_config_dict(CONFIG)))
    for source in (tmp_path, (CONFIG, weights)):
        with pytest.raises(ValueError, match=rf"{name} is {dtype}, as in a quantized checkpoint"):
            Engine(EngineConfig(model=source, num_page_override=8))


def test_a_model_that_fits_into_no_memory() -> None:
    name = "model.layers.0.mlp.experts.0.down_proj.weight"
    pairs = load_weights({name: torch.zeros(1).expand(2**15, 2**15)}, CPU, torch.float32, num_experts=2**30)
    with pytest.raises(ValueError, match=r"the state dict could not be loaded: .*memory"):
        list(pairs)


def test_folder_without_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(hf_config_dict(CONFIG)))
    with pytest.raises(FileNotFoundError, match=r"has no \.safetensors file$"):
        load(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(FileNotFoundError, match=r"weights are pickled, which is not supported"):
        load(tmp_path)


def test_the_same_weights_in_another_form_are_left_alone(tmp_path: Path) -> None:
    save_file(WEIGHTS, tmp_path / "model.safetensors")
    save_file({"tok_embeddings.weight": torch.rand(3)}, tmp_path / "consolidated.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(hf_config_dict(CONFIG)))
    assert torch.equal(load(tmp_path).model.state_dict()["model.norm.weight"], WEIGHTS["model.norm.weight"])


def write_index(folder: Path, **moved: str) -> None:
    """An index over all files of the folder, some tensors of which are said to be elsewhere."""
    weight_map = {}
    for path in folder.glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            weight_map |= dict.fromkeys(file.keys(), path.name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {**weight_map, **moved}}))


def test_an_index_that_lies(tmp_path: Path) -> None:
    write_model(tmp_path, shards=2)
    first, second = sorted(path.name for path in tmp_path.glob("*.safetensors"))
    with safe_open(tmp_path / first, "pt") as file:
        name = next(iter(file.keys()))
    write_index(tmp_path, **{name: second})
    with pytest.raises(ValueError, match=rf"index\.json says that .*{second} holds {name}: it does not"):
        load(tmp_path)
    write_index(tmp_path, **{"model.new.weight": first})
    with pytest.raises(ValueError, match=rf"says that .*{first} holds model\.new\.weight: it does not"):
        load(tmp_path)


def test_a_tensor_in_two_files(tmp_path: Path) -> None:
    """The index decides; without one nobody can."""
    write_model(tmp_path, shards=2)
    save_file({"model.norm.weight": torch.zeros(64)}, tmp_path / "model-0a.safetensors")
    save_file({"model.norm.weight": torch.zeros(64)}, tmp_path / "model-2.safetensors")
    loaded = load(tmp_path).model.state_dict()["model.norm.weight"]
    assert torch.equal(loaded, WEIGHTS["model.norm.weight"])
    (tmp_path / "model.safetensors.index.json").unlink()
    with pytest.raises(ValueError, match=r"both .*safetensors and .*safetensors hold model\.norm\.weight"):
        load(tmp_path)


def test_a_state_dict_of_parameters_is_taken() -> None:
    """With gradients, as modules have them: nothing of autograd is kept."""
    parameters = {name: torch.nn.Parameter(weight) for name, weight in WEIGHTS.items()}
    engine = Engine(EngineConfig(model=(CONFIG, parameters), num_page_override=8, max_running_req=1))
    assert not any(weight.requires_grad for weight in engine.model.state_dict().values())


def test_models_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINISGL_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    with pytest.raises(FileNotFoundError, match="make model-smol"):
        resolve_model("smollm2")
    (tmp_path / "smollm2").mkdir()
    (tmp_path / "smollm2" / "config.json").write_text("{}")
    assert resolve_model("smollm2") == tmp_path / "smollm2"
    assert resolve_model(str(tmp_path)) == tmp_path == resolve_model(tmp_path)
    (tmp_path / "m.gguf").touch()
    assert resolve_model(str(tmp_path / "m.gguf")) == tmp_path / "m.gguf"
    with pytest.raises(FileNotFoundError, match=r"config\.json is a file"):
        resolve_model(tmp_path / "smollm2" / "config.json")
    with pytest.raises(FileNotFoundError, match=r"no file .*n\.gguf"):
        resolve_model(tmp_path / "n.gguf")
    with pytest.raises(FileNotFoundError, match="no model 'nonsense'"):
        resolve_model("nonsense")


def test_cache_folder_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINISGL_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/minisgl")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "minisgl"


def test_tiny_model_is_t0() -> None:
    weights = tiny_state_dict(tiny_config(), seed=3)
    assert sum(w.numel() for w in weights.values()) == 106880
    assert tiny_config().kv_elements_per_token * 4 == 512
    again = tiny_state_dict(tiny_config(), seed=3)
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert not torch.equal(
        weights["model.norm.weight"], tiny_state_dict(tiny_config(), 4)["model.norm.weight"]
    )
    assert weights["model.embed_tokens.weight"].std().item() == pytest.approx(0.02, rel=0.02)
    assert weights["model.layers.1.mlp.down_proj.weight"].std().item() == pytest.approx(0.125, rel=0.05)
    norm = weights["model.layers.0.self_attn.q_norm.weight"]
    assert norm.shape == (16,) and 0.5 <= norm.min() < norm.max() <= 1.5
    assert prompt(1, 4) == [40, 51, 62, 73]
