"""Messages survive the way through bytes, and bytes cannot name anything but a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from minisgl.core import SamplingParams
from minisgl.message import (
    AbortBackendMsg,
    BaseBackendMsg,
    BaseFrontendMsg,
    BaseTokenizerMsg,
    BatchTokenizerMsg,
    DetokenizeMsg,
    TokenizeMsg,
    TokenLogprob,
    UserMsg,
    UserReply,
    backend,
)
from minisgl.message.utils import deserialize_type, serialize_type
from minisgl.utils.mp import pack, unpack


@dataclass
class Node:
    value: Any
    children: list[Any]


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text().filter(lambda key: key != "__type__"), inner)
        | st.builds(Node, inner, st.lists(inner))
    ),
    max_leaves=20,
)


@given(plain)
def test_what_is_packed_comes_back(value: Any) -> None:
    assert deserialize_type({"Node": Node}, unpack(pack(serialize_type(value)))) == value


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32])
def test_a_tensor_sends_its_own_elements_and_owns_what_arrives(dtype: torch.dtype) -> None:
    storage = torch.arange(100, dtype=dtype)
    for tensor in (storage, storage[10:13], storage[::7], storage[:0]):
        data = serialize_type(tensor)
        assert data == {
            "__type__": "Tensor",
            "dtype": str(dtype),
            "buffer": tensor.contiguous().numpy().tobytes(),
        }
        arrived = deserialize_type({}, data)
        assert arrived.dtype == dtype and torch.equal(arrived, tensor)
        arrived += 1
        assert torch.equal(deserialize_type({}, data), tensor), "the message was written to"


def test_every_message_comes_back_through_bytes() -> None:
    ids = torch.tensor([1, 2, 3], dtype=torch.int32)
    params = SamplingParams(temperature=0.5, seed=2**63)
    msg = UserMsg(7, ids, params)
    user = BaseBackendMsg.decoder(unpack(pack(msg.encoder())))
    assert isinstance(user, UserMsg) and user.uid == 7 and user.sampling_params == params
    assert torch.equal(user.input_ids, ids)
    assert len(msg.encoder()["input_ids"]["buffer"]) == 12
    assert BaseBackendMsg.decoder(unpack(pack(AbortBackendMsg(8).encoder()))) == AbortBackendMsg(8)
    batch = BatchTokenizerMsg([DetokenizeMsg(1, 5, False), DetokenizeMsg(2, -1, True, "error", "no")])
    assert BaseTokenizerMsg.decoder(unpack(pack(batch.encoder()))) == batch

    reply = UserReply(1, "é", 1, False, logprob=TokenLogprob("é", b"\xc3\xa9", -0.5), top_logprobs=[])
    assert BaseFrontendMsg.decoder(unpack(pack(reply.encoder()))) == reply
    chat = TokenizeMsg(1, [{"role": "user", "content": "你好"}], SamplingParams())
    assert BaseTokenizerMsg.decoder(unpack(pack(chat.encoder()))) == chat


def test_what_cannot_be_sent_is_refused() -> None:
    for value in (object(), {1, 2}, Node, 1j, {1: 2}, {"__type__": "Node"}, [object()]):
        with pytest.raises(ValueError, match="message"):
            serialize_type(value)
    for tensor in (torch.zeros(2, 2), torch.zeros(2, dtype=torch.bool), torch.tensor(1)):
        with pytest.raises(ValueError, match="tensor in a message"):
            serialize_type(tensor)
    with pytest.raises(ValueError, match="large integer"):
        pack(serialize_type(2**64))


def test_only_a_listed_dataclass_is_made() -> None:
    for name in ("print", "torch", "deserialize_type", "Any", "SamplingParam", "", 3, None, ["UserMsg"]):
        with pytest.raises(ValueError, match="no message type"):
            deserialize_type(vars(backend) | {"print": print}, {"__type__": name})
    with pytest.raises(ValueError, match="no message type"):  # an object of a dataclass is no type
        deserialize_type({"node": Node(1, [])}, {"__type__": "node", "value": 1, "children": []})


@pytest.mark.parametrize("fields", [{"value": 1}, {"value": 1, "children": [], "more": 2}, {}, {1: 2}])
def test_other_fields_are_refused(fields: dict[Any, Any]) -> None:
    with pytest.raises(ValueError, match="Node"):
        deserialize_type({"Node": Node}, {"__type__": "Node", **fields})


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "torch.float64"},
        {"dtype": "int32"},
        {"dtype": 4},
        {"buffer": b"123"},
        {"buffer": "1234"},
        {"buffer": [1, 2, 3, 4]},
        {"shape": [1]},
    ],
)
def test_a_damaged_tensor_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Tensor"):
        deserialize_type({}, {"__type__": "Tensor", "dtype": "torch.int32", "buffer": b"1234", **change})


def test_a_message_for_somebody_else_is_refused() -> None:
    with pytest.raises(ValueError, match="scheduler"):
        BaseBackendMsg.decoder([1, 2])
    with pytest.raises(ValueError, match="TokenizeMsg"):
        BaseBackendMsg.decoder(TokenizeMsg(1, "a", SamplingParams()).encoder())
    with pytest.raises(ValueError, match="tokenizer"):
        BaseTokenizerMsg.decoder({"a": 1})
    with pytest.raises(ValueError, match="API server"):
        BaseFrontendMsg.decoder(None)


@given(st.binary(max_size=64))
def test_random_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        BaseBackendMsg.decoder(unpack(raw))
    except ValueError:
        return
    raise AssertionError("random bytes made a message")


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        unpack(b"\x91" * 100_000 + b"\xc0")
