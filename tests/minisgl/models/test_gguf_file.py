"""Reading the format itself: what is stored where, and what damage is told."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from gguf_files import tokenizer_fields, write_gguf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import tiny_config, tiny_state_dict
from minisgl.utils.gguf_file import GGUFFile

CPU = torch.device("cpu")


def test_a_k_quantization_by_its_definition(tmp_path: Path) -> None:
    """Q6_K: 256 numbers of 6 bits, 16 scales of 8, one factor of float16. Here each number is its place."""
    rng = np.random.default_rng(0)
    quants, scales = rng.integers(0, 64, 256), rng.integers(-128, 128, 16)
    factor = np.float16(0.125)
    low, high = np.zeros(128, np.uint8), np.zeros(64, np.uint8)
    for i, value in enumerate(quants):
        half, within = divmod(i, 128)
        quarter, column = divmod(within, 32)
        low[half * 64 + column + 32 * (quarter % 2)] |= (value & 15) << (4 * (quarter // 2))
        high[half * 32 + column] |= (value >> 4) << (2 * quarter)
    block = low.tobytes() + high.tobytes() + scales.astype(np.int8).tobytes() + factor.tobytes()
    expected = float(factor) * scales.repeat(16) * (quants - 32)

    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    data = np.frombuffer(block * 3, np.uint8).reshape(3, -1)
    writer.add_tensor("x", data, raw_dtype=Kind.Q6_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tensor = GGUFFile(tmp_path / "m.gguf").read("x", CPU, torch.float32)
    assert tensor.shape == (3, 256)
    assert all(torch.equal(row, torch.from_numpy(expected).float()) for row in tensor)


@pytest.mark.parametrize("kind", [Kind.Q2_K, Kind.Q3_K, Kind.Q4_K, Kind.Q5_K, Kind.IQ4_XS, Kind.Q6_K])
def test_quantizations_in_blocks_of_256(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in pieces, a tensor is what the package makes of it at once."""
    monkeypatch.setattr("minisgl.utils.gguf_file._CHUNK", 600)
    _, nbytes = gguf.GGML_QUANT_SIZES[kind]
    rng = np.random.default_rng(1)
    data = rng.integers(0, 60, (7, 2 * nbytes), dtype=np.uint8)  # no factor is infinite or no number
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_tensor("x", data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tensor = GGUFFile(tmp_path / "m.gguf").read("x", CPU, torch.float32)
    assert tensor.shape == (7, 512) and tensor.std() > 0
    assert torch.equal(tensor, torch.from_numpy(gguf.dequantize(data, kind)))


def test_the_packages_reader_sees_the_same(tmp_path: Path) -> None:
    config, path = tiny_config("qwen3_moe"), tmp_path / "m.gguf"
    fields = {**tokenizer_fields("qwen2"), "a.bool": True, "a.floats": [0.5, -2.0], "a.text": "你好"}
    write_gguf(path, config, tiny_state_dict(config, 0), Kind.BF16, **fields)
    ours, theirs = GGUFFile(path), gguf.GGUFReader(path)
    contents = {name: field.contents() for name, field in theirs.fields.items() if name[:5] != "GGUF."}
    assert ours.fields == contents
    assert [
        (t.name, tuple(t.shape)[::-1], t.tensor_type.name, t.data_offset, t.n_bytes) for t in theirs.tensors
    ] == [(name, tuple(t.shape), t.kind, t.start, t.nbytes) for name, t in ours.tensors.items()]


def test_what_is_no_gguf_file(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    for content, message in (
        (b"", "is empty"),
        (b"GGML" + bytes(100), "does not begin as a GGUF file"),
        (b"GGUF\x01\0\0\0" + bytes(100), "version 1"),
        (b"GGUF\0\0\0\x03" + bytes(100), "version 50331648"),
        (b"GGUF\x03\0\0\0", "cut short"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 16, "cut short"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            GGUFFile(path)


def test_a_tensor_twice(tmp_path: Path) -> None:
    config, path = tiny_config("llama"), tmp_path / "m.gguf"
    write_gguf(path, config, tiny_state_dict(config, 0))
    content = path.read_bytes().replace(b"blk.1.attn_norm.weight", b"blk.0.attn_norm.weight")
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"holds blk\.0\.attn_norm\.weight twice"):
        GGUFFile(path)


@pytest.fixture(scope="module")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    config = tiny_config("qwen3_moe", num_layers=1, num_experts=2, vocab_size=262)
    path = tmp_path_factory.mktemp("gguf") / "m.gguf"
    write_gguf(path, config, tiny_state_dict(config, 0), **tokenizer_fields("qwen2"))
    return path.read_bytes()


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1), bit=st.integers(0, 7), kind=st.sampled_from(["cut", "flip", "front", "front"]))
def test_damage_is_named(where: float, bit: int, kind: str, small_file: bytes, tmp_path: Path) -> None:
    path, content = tmp_path / "m.gguf", bytearray(small_file)
    if kind == "cut":
        content = content[: int(where * (len(content) - 1))]
    else:
        content[int(where * ((len(content) if kind == "flip" else 1500) - 1))] ^= 1 << bit
    path.write_bytes(content)
    try:
        llm = LLM(path, num_page_override=8, max_running_req=1)
        llm.generate([[1, 2, 3]], SamplingParams(max_tokens=1))
    except (ValueError, FileNotFoundError) as error:
        assert "m.gguf" in str(error)
    except RuntimeError as error:
        assert "no number" in str(error), error
