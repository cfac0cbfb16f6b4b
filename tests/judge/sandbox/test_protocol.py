"""The wire format: what goes through unchanged, and what never gets through."""

import math
import struct

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from judge.sandbox import protocol
from judge.sandbox.protocol import Opaque, TensorData, arrived, delivered, packed

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


def identical(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(identical(a[key], b[key]) for key in a)
    return a == b


def to_box(value):
    """As a box gets it."""
    return delivered(packed(value))


def from_box(value):
    """As the judge gets it."""
    body = protocol.encode(protocol.Emit(0, protocol.pack(value)))[protocol.HEADER.size :]
    return protocol.decode_from_box(body).value


both = pytest.mark.parametrize("sent", [to_box, from_box, arrived])


def torch_of(value):
    return value.torch() if isinstance(value, TensorData) else value


@both
@given(value=plain)
def test_plain_values_come_back_identical(sent, value):
    assert identical(sent(value), value)


@pytest.mark.parametrize("bits", [0x7FF8000000000123, 0x8000000000000000, 1, 0xFFF0000000000000])
def test_floats_keep_their_bits(bits):
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    assert struct.unpack("<Q", struct.pack("<d", from_box(value))) == (bits,)


@pytest.mark.parametrize("name", protocol.ITEM_BYTES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4)])
@both
def test_tensors_keep_dtype_shape_and_bits(sent, name, shape):
    dtype = getattr(torch, name)
    tensor = torch.randint(0, 2, shape).to(dtype)
    got = torch_of(sent(tensor))
    assert got is not tensor and got.dtype == dtype and got.shape == tensor.shape and torch.equal(got, tensor)
    assert arrived(got) == arrived(tensor) and arrived(tensor).tolist() == tensor.tolist()
    assert arrived(tensor) != arrived(torch.stack([tensor, tensor]))


@both
def test_strided_and_negated_tensors_travel_as_their_values(sent):
    tensor = torch.arange(12.0).reshape(3, 4)
    negated = torch._neg_view(tensor)
    for view in (tensor.T, tensor[:, ::2], tensor.expand(2, 3, 4), torch.nn.Parameter(tensor), negated):
        got = torch_of(sent(view))
        assert torch.equal(got, view.detach())
        assert type(got) is torch.Tensor and not got.requires_grad and got.is_contiguous()


@both
def test_a_tensor_that_arrives_is_the_receivers_own(sent):
    tensor = torch.zeros(2)
    torch_of(sent(tensor)).add_(1)
    assert tensor.tolist() == [0, 0]


@both
def test_tuples_arrive_as_lists(sent):
    assert sent((1, (2, torch.Size([3])))) == [1, [2, [3]]]


class Int(int):
    pass


class Text(str):
    pass


@pytest.mark.parametrize(
    "value",
    [
        2**63,
        -(2**63) - 1,
        Int(1),
        Text("a"),
        1j,
        {1},
        b"x",
        object(),
        int,
        {1: 2},
        {Text("a"): 1},
        "\ud800",
        "a" * 70000,
    ],
)
@both
def test_what_cannot_travel_becomes_opaque(sent, value):
    got = sent([value, 1])
    assert type(got[0]) is Opaque and got[1] == 1 and got[0].what == to_box(value).what
    assert got[0] != got[0] and got[0] != value


@both
def test_depth_is_cut(sent):
    value = 1
    for _ in range(100):
        value = [value]
    got = sent(value)
    while type(got) is list:
        (got,) = got
    assert type(got) is Opaque


def test_too_many_values_are_too_large():
    cycle = []
    cycle += [cycle] * 100
    with pytest.raises(protocol.TooLarge):
        protocol.pack(cycle)


def test_a_frame_over_the_limit_is_too_large():
    with pytest.raises(protocol.TooLarge):
        protocol.encode(protocol.Emit(0, ["x" * 60000] * 20))


def frame(*fields):
    return msgspec.msgpack.encode(fields)


def test_a_frame_comes_back():
    got = protocol.decode_from_box(frame("emit", 3, {"a": [1, 2.0]}))
    assert (got.index, got.value) == (3, {"a": [1, 2.0]})


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\xc1", frame("emit"), frame("emit", 0), frame("emit", 0, 1, 2), frame("emit", True, 1),
        frame("emit", 0.0, 1), frame("emit", "0", 1), frame("nope", 0), frame(0), frame("emit", 0, 2**63),
        frame("emit", 0, {1: 2}), frame("emit", 0, b"x"), frame("call", 0, 1, []), frame("call", 0, "a", {}),
        frame("call", 0, "a", [{None: 1}]), frame("rejected", 0, "AC", "x", ["E", "", None], ""),
        frame("done", 0, ["E", "m", "1"], []), frame("end", 0, 0), frame("emit", 0, "x" * 70000),
        frame("emit", 0, msgspec.msgpack.Ext(9, b"")), frame("emit", 0, msgspec.msgpack.Ext(1, b"\xc1")),
        b"\x93\xa4emit\x00" + b"\x91" * 60 + b"\x01", b"\x93\xa4emit\x00" + b"\x91" * 200000 + b"\x01",
    ],
)  # fmt: skip
def test_anything_else_is_refused(body):
    with pytest.raises(protocol.FrameError):
        protocol.decode_from_box(body)


def test_texts_that_are_shown_are_short():
    for body in (
        frame("done", 0, ["E" * 201, "", None], []), frame("done", 0, None, [["E", "m" * 1001, None]]),
        frame("rejected", 0, "CE", "r" * 201, ["E", "", None], ""),
        frame("sample", 0, "t", True, 1, "", "", "g" * 20_001, "", ""),
    ):  # fmt: skip
        with pytest.raises(protocol.FrameError):
            protocol.decode_from_box(body)


def test_all_values_of_a_box_count():
    tally = protocol.Tally()
    with pytest.raises(protocol.TooMany):
        for index in range(100):
            protocol.decode_from_box(frame("emit", index, [{}] * 100_000), tally)
    assert index == protocol.VALUES // 100_000 - 1


def test_tensors_weigh_more():
    tally = protocol.Tally()
    protocol.decode_from_box(tensor_frame("int16", [2], b"\1\0\2\0"), tally)
    assert tally.values == 1 + protocol.TENSOR_NODES


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_a_frame_error(body):
    try:
        protocol.decode_from_box(body)
    except protocol.FrameError:
        return


def tensor_frame(dtype, shape, raw):
    return frame("emit", 0, msgspec.msgpack.Ext(1, frame(dtype, shape, raw)))


def test_a_tensor_frame_comes_back():
    got = protocol.decode_from_box(tensor_frame("int16", [2], b"\1\0\2\0")).value
    assert torch.equal(got.torch(), torch.tensor([1, 2], dtype=torch.int16))


@pytest.mark.parametrize(
    "dtype, shape, raw",
    [
        ("int16", [2], b"123"), ("int16", [2**30, 2**30], b""), ("int16", [-1, -2], b"1234"),
        ("object", [1], b"1"),
        ("int16", [0, 2**40], b""), ("int8", [1] * 9, b"1"), ("int8", [True], b"1"), ("int8", 1, b"1"),
        ("bool", [1], b"\2"), ("int8", [1], "1"),
    ],
)  # fmt: skip
def test_a_tensor_that_lies_is_refused(dtype, shape, raw):
    with pytest.raises(protocol.FrameError):
        protocol.decode_from_box(tensor_frame(dtype, shape, raw))


def test_nan_is_not_equal_even_to_itself_after_the_trip():
    assert math.isnan(from_box(math.nan))
