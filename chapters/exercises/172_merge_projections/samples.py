import torch


def rows(first, count):
    """A matrix of `count` rows and two columns, the rows numbered from `first`."""
    return torch.tensor([[float(first + i), 0.5] for i in range(count)])


def numbers(tensor):
    """The numbers of a matrix's rows."""
    return [int(row[0]) for row in tensor.tolist()]


def test_example(target):
    """题目里的例子：v、q、k 依次到来
    The example: v, q, k arrive in this order"""
    norm = torch.ones(2)
    pairs = [
        ("layers.0.self_attn.v_proj.weight", rows(30, 1)),
        ("layers.0.input_layernorm.weight", norm),
        ("layers.0.self_attn.q_proj.weight", rows(10, 2)),
        ("layers.0.self_attn.k_proj.weight", rows(20, 1)),
    ]
    given = list(target(iter(pairs)))
    assert [name for name, _ in given] == [
        "layers.0.input_layernorm.weight",
        "layers.0.self_attn.qkv_proj.weight",
    ], "norm 立即产出；k 到来，qkv 才凑齐。\nThe norm passes at once; k, the last part, completes qkv."
    assert given[0][1] is norm, "不用合并的是原来那个张量。\nWhat is not merged is the same tensor."
    assert numbers(given[1][1]) == [10, 11, 20, 30], "次序是 q、k、v。\nThe order is q, k, v."


def test_one_at_a_time(target):
    """凑齐就产出，不等下一个
    A complete group does not wait for the next pair"""
    taken = []

    def reader():
        for name in ("gate_proj", "up_proj", "down_proj"):
            taken.append(name)
            yield f"layers.0.mlp.{name}.weight", rows(0, 1)

    name, _ = next(iter(target(reader())))
    assert name == "layers.0.mlp.gate_up_proj.weight", "先产出的是这一组。\nThis group comes first."
    assert taken == ["gate_proj", "up_proj"], "还没有去取第三个。\nThe third is not taken yet."


def test_weight_and_bias(target):
    """`weight` 和 `bias` 交错到来
    `weight` and `bias` arrive in turn"""
    pairs = []
    for first, part in ((10, "q_proj"), (20, "k_proj"), (30, "v_proj")):
        pairs.append((f"a.{part}.weight", rows(first, 1)))
        pairs.append((f"a.{part}.bias", rows(first + 5, 1)))
    given = {name: numbers(tensor) for name, tensor in target(iter(pairs))}
    assert given == {"a.qkv_proj.weight": [10, 20, 30], "a.qkv_proj.bias": [15, 25, 35]}, (
        "两组分开合并。\nThey are merged apart."
    )


def test_half_a_group(target):
    """少了一半
    Half of it is missing"""
    try:
        list(target(iter([("layers.0.mlp.up_proj.weight", rows(0, 1))])))
    except ValueError as error:
        said = str(error)
        assert "layers.0.mlp.gate_up_proj.weight" in said, (
            "消息里要有合并后的名字。\nThe message has the merged name."
        )
        return
    raise AssertionError("没有 gate，凑不齐：ValueError。\nWithout gate it is unfinished: ValueError.")
