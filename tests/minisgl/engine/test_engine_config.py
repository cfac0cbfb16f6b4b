"""Settings of an engine that are wrong in type or value, and memory that is not there."""

from pathlib import Path

import pytest
import torch

from minisgl.engine import Engine, EngineConfig
from minisgl.models.tiny import tiny_config, tiny_state_dict
from minisgl.scheduler import SchedulerConfig
from minisgl.utils.memory import available_memory

MODEL = (tiny_config(), tiny_state_dict(tiny_config(), 0))


@pytest.mark.parametrize("value", ["4", 1.5, 2.0, True, 0, -1])
@pytest.mark.parametrize(
    "name", ["page_size", "max_running_req", "num_page_override", "max_seq_len_override", "max_extend_tokens"]
)
def test_counts(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, not {value!r}"):
        SchedulerConfig(model=MODEL, **{name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("page_size", None, "page_size .* not None"),
        ("memory_ratio", "x", "memory_ratio .* not 'x'"),
        ("memory_ratio", float("nan"), "memory_ratio"),
        ("memory_ratio", True, "memory_ratio"),
        ("seed", 1.5, "seed"),
        ("seed", None, "seed"),
        ("dtype", "float32", "dtype must be .* not 'float32'"),
        ("dtype", torch.int32, "dtype must be"),
        ("dtype", torch.float8_e4m3fn, "dtype must be a floating-point type of at least 16 bits"),
        ("tp_info", 2, "tp_info must be a DistributedInfo, not 2"),
        ("device", "cpu:0", "device must be 'cpu' or 'cuda', not 'cpu:0'"),
        ("device", "tpu9", "device must be 'cpu' or 'cuda', not 'tpu9'"),
        ("device", "meta", "device must be"),
        ("device", None, "device must be"),
        ("cache_type", None, "cache_type must be one of naive, radix"),
        ("cache_type", ["radix"], "cache_type must be one of naive, radix"),
    ],
)
def test_other_settings(name: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SchedulerConfig(model=MODEL, **{name: value})


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU")
def test_a_missing_gpu_is_told() -> None:
    with pytest.raises(ValueError, match="torch finds no CUDA GPU here: use 'cpu'"):
        EngineConfig(model=MODEL, device="cuda")


@pytest.mark.parametrize("model", [None, 7, list(MODEL), MODEL[0], MODEL[:1], (1, 2), (MODEL[0], None)])
def test_what_is_no_model(model: object) -> None:
    with pytest.raises(TypeError, match="model must be a name, a folder, a hub id, or a pair"):
        EngineConfig(model=model)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_page_override": 2**31 // 64, "page_size": 64}, "too large for the page table, which is int32"),
        ({"num_page_override": 1}, "would have 1 pages, and needs at least 2: .* num_page_override"),
        ({"memory_ratio": 1e-9}, "needs at least 2: free some memory"),
        ({"max_running_req": 10**11, "num_page_override": 4}, "a page table of 100000000000 requests of 4 "),
        (
            {"max_running_req": 10**9},
            r"requests of \d+ tokens takes .* GiB, .* a smaller max_running_req",
        ),
    ],
)
def test_what_only_the_engine_sees(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Engine(EngineConfig(model=MODEL, **settings))


def test_a_pool_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**shape: object) -> None:
        raise RuntimeError("can't allocate memory")

    monkeypatch.setattr("minisgl.engine.engine.create_kv_cache", refuse)
    with pytest.raises(
        ValueError, match=r"2097151 pages of 1 tokens takes 1\.0 GiB.*smaller num_page_override"
    ):
        Engine(EngineConfig(model=MODEL, num_page_override=2**21 - 1))


def test_memory_that_linux_would_give_up_counts_as_available(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 900 kB\nMemFree: 10 kB\nMemAvailable:   700 kB\n")
    assert available_memory(meminfo) == 700 * 1024
    assert available_memory(tmp_path / "missing") > 2**20


def test_a_browsers_tab_gives_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "emscripten")
    assert available_memory(tmp_path / "missing") == 256 * 2**20
