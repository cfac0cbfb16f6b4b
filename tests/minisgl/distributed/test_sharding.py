"""What each rank keeps of a tensor, and how logits come together again. No processes needed."""

from __future__ import annotations

import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.distributed import DistributedInfo, get_tp_info, set_tp_info
from minisgl.distributed.info import check_split, rank_device
from minisgl.engine import EngineConfig
from minisgl.layers import (
    LinearOProj,
    LinearQKVMerged,
    ParallelLMHead,
    VocabParallelEmbedding,
    merge_gathered_logits,
)
from minisgl.models import create_model, merge_projections
from minisgl.models.tiny import tiny_config, tiny_state_dict
from minisgl.models.weight import _shard_tensor, shard_weights

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_rank_afterwards():
    yield
    set_tp_info(0, 1)


def numbers(*shape: int) -> torch.Tensor:
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).view(shape)


def shards(key: str, value: torch.Tensor, size: int, num_kv_heads: int = 1) -> list[torch.Tensor]:
    return [_shard_tensor(key, value, rank, size, num_kv_heads) for rank in range(size)]


@pytest.mark.parametrize("part", ["q_proj", "gate_proj", "up_proj"])
@pytest.mark.parametrize("kind", ["weight", "bias"])
def test_outputs_are_cut_in_equal_parts(part: str, kind: str) -> None:
    value = numbers(8, 3) if kind == "weight" else numbers(8)
    for size in (1, 2, 4, 8):
        parts = shards(f"model.layers.0.mlp.{part}.{kind}", value, size)
        assert [len(p) for p in parts] == [8 // size] * size and torch.equal(torch.cat(parts), value)


@pytest.mark.parametrize("part", ["o_proj", "down_proj"])
def test_inputs_are_cut_and_their_bias_is_whole(part: str) -> None:
    value = numbers(3, 8)
    parts = shards(f"model.layers.0.mlp.{part}.weight", value, 4)
    assert [tuple(p.shape) for p in parts] == [(3, 2)] * 4 and torch.equal(torch.cat(parts, 1), value)
    bias = numbers(3)
    assert all(shard is bias for shard in shards(f"x.{part}.bias", bias, 4))


@pytest.mark.parametrize("part", ["k_proj", "v_proj"])
@pytest.mark.parametrize("shape", [(8, 3), (8,)])
def test_neighbours_share_a_head_when_there_are_too_few(part: str, shape: tuple[int, ...]) -> None:
    value = numbers(*shape)
    parts = shards(f"layers.1.self_attn.{part}.weight", value, 4, num_kv_heads=2)
    assert [int(p.flatten()[0]) for p in parts] == [0, 0, int(value[4:].min()), int(value[4:].min())]
    assert all(len(p) == 4 for p in parts)
    parts = shards(f"layers.1.self_attn.{part}.weight", value, 2, num_kv_heads=2)
    assert torch.equal(torch.cat(parts), value)


@pytest.mark.parametrize("key", ["model.embed_tokens.weight", "lm_head.weight"])
@pytest.mark.parametrize("size", range(1, 9))
def test_a_vocabulary_that_does_not_divide_is_filled_up_with_zeros(key: str, size: int) -> None:
    value = numbers(13, 2) + 1
    parts = shards(key, value, size)
    rows = -(-13 // size)
    assert [tuple(p.shape) for p in parts] == [(rows, 2)] * size
    joined = torch.cat(parts)
    assert torch.equal(joined[:13], value) and not joined[13:].any()


@pytest.mark.parametrize(
    "key", ["model.norm.weight", "layers.0.mlp.gate.weight", "layers.0.self_attn.q_norm.weight"]
)
def test_the_rest_is_whole(key: str) -> None:
    value = numbers(8, 4)
    assert all(shard is value for shard in shards(key, value, 2))


@pytest.mark.parametrize("key", ["a.q_proj.weight", "a.k_proj.weight", "a.o_proj.weight", "lm_head.weight"])
@pytest.mark.parametrize("shape", [(8, 8), (8, 1), (1, 8)])
def test_a_shard_owns_its_memory(key: str, shape: tuple[int, int]) -> None:
    value = numbers(*shape)
    try:
        parts = shards(key, value, 2)
    except ValueError:  # one row or one column cannot be cut
        return
    for shard in parts:
        assert shard.untyped_storage().nbytes() == shard.nbytes
        assert shard.untyped_storage().data_ptr() != value.untyped_storage().data_ptr()


def test_what_cannot_be_cut_is_named() -> None:
    with pytest.raises(ValueError, match=r"a\.q_proj\.weight: shape \(5, 2\) cannot be cut into 2 parts"):
        _shard_tensor("a.q_proj.weight", numbers(5, 2), 0, 2, 1)


def test_dtype_is_kept() -> None:
    for key in ("a.q_proj.weight", "a.o_proj.weight", "lm_head.weight"):
        assert _shard_tensor(key, numbers(8, 8).bfloat16(), 1, 2, 1).dtype == torch.bfloat16


@given(batch=st.integers(1, 3), size=st.integers(1, 4), vocab=st.integers(1, 13))
@settings(deadline=None, max_examples=60)
def test_logits_come_together_again(batch: int, size: int, vocab: int) -> None:
    logits = torch.randn(batch, vocab)
    rows = -(-vocab // size)
    padded = torch.full((batch, size * rows), float("inf"))
    padded[:, :vocab] = logits
    gathered = torch.cat(padded.split(rows, dim=1))  # rank after rank
    assert torch.equal(merge_gathered_logits(gathered, size, vocab), logits)


def test_layers_hold_a_share() -> None:
    set_tp_info(1, 2)
    assert get_tp_info() == DistributedInfo(1, 2) and not get_tp_info().is_primary
    assert LinearQKVMerged(64, 16, 4, 2, has_bias=True).weight.shape == (64, 64)
    assert LinearOProj(64, 64, has_bias=False).weight.shape == (64, 32)
    assert VocabParallelEmbedding(13, 4).weight.shape == (7, 4)
    assert ParallelLMHead(13, 4, None).weight.shape == (7, 4)
    set_tp_info(3, 4)
    assert LinearQKVMerged(64, 16, 4, 2, has_bias=True).weight.shape == ((1 + 2) * 16, 64)


@pytest.mark.parametrize("arch", ["qwen3", "qwen2", "llama"])
@pytest.mark.parametrize("size", [2, 4])
def test_a_sharded_checkpoint_fits_the_sharded_model(arch: str, size: int) -> None:
    config = tiny_config(arch, vocab_size=509, tie_word_embeddings=False, o_bias=True, mlp_bias=True)
    weights = tiny_state_dict(config, 0)
    for rank in range(size):
        info = DistributedInfo(rank, size)
        set_tp_info(rank, size)
        model = create_model(config, CPU, torch.float32)
        pairs = shard_weights(weights.items(), info, config.num_kv_heads)
        model.load_state_dict(dict(merge_projections(pairs)))


def test_no_more_than_one_tensor_is_whole_at_a_time() -> None:
    whole: list[weakref.ref[torch.Tensor]] = []

    def read() -> torch.Tensor:
        assert [ref for ref in whole if ref() is not None] == [], "the one before is still there"
        tensor = numbers(8, 4)
        whole.append(weakref.ref(tensor))
        return tensor

    names = [
        f"layers.{layer}.mlp.{part}_proj.weight" for layer in range(3) for part in ("up", "gate", "down")
    ]
    checkpoint = ((name, read()) for name in names)
    merged = dict(merge_projections(shard_weights(checkpoint, DistributedInfo(0, 2), 1)))
    assert len(merged) == 6 and len(whole) == 9


@pytest.mark.parametrize("size", [1, 2, 4])
def test_sizes_that_work(size: int) -> None:
    check_split(tiny_config(), size)


@pytest.mark.parametrize("size", [3, 8])
def test_sizes_that_do_not_work_are_told_those_that_do(size: int) -> None:
    with pytest.raises(ValueError, match=rf"{size} ranks cannot share this model.*tp_size may be 1, 2, 4$"):
        check_split(tiny_config(), size)
    with pytest.raises(ValueError, match=r"feed-forward size of 126; tp_size may be 1, 2$"):
        check_split(tiny_config(intermediate_size=126), 4)
    with pytest.raises(ValueError, match=r"tp_size may be 1, 3, 6$"):
        check_split(tiny_config(num_qo_heads=6, num_kv_heads=3, intermediate_size=12), 2)


def test_bad_info() -> None:
    for rank, size in ((0, 0), (2, 2), (-1, 2), (True, 2), (0, 1.0)):
        with pytest.raises(ValueError, match="rank"):
            DistributedInfo(rank, size)


def test_each_rank_has_a_gpu_of_its_own() -> None:
    assert rank_device("cuda", DistributedInfo(1, 2)) == torch.device("cuda:1")
    assert rank_device("cuda", DistributedInfo(0, 1)) == torch.device("cuda")
    assert rank_device("cpu", DistributedInfo(1, 2)) == CPU


def test_one_rank_is_the_default() -> None:
    assert EngineConfig().tp_info == get_tp_info() == DistributedInfo(0, 1)
