def row(target, position, factor, attention_factor=None):
    """A row of the table of a head of 4 dimensions: two cosines, two sines, six digits."""
    table = target(4, 8, 10000.0, factor, 64, attention_factor=attention_factor)
    return [round(value, 5) for value in table[position].tolist()]


def test_position_0(target):
    """位置 0：角是 0，剩下的是缩放因子
    Position 0: all angles are 0, and the factor is left"""
    assert row(target, 0, 4.0) == [1.13863, 1.13863, 0.0, 0.0], (
        "`factor` 为 4，缩放因子是 0.1 · ln 4 + 1。\nWith `factor` 4 the attention factor is 0.1 · ln 4 + 1."
    )


def test_sines_as_well(target):
    """位置 1：sin 也要乘
    Position 1: sines are multiplied, too"""
    # the fast pair turns by 1 radian: cos 0.540302, sin 0.841471
    cos, _, sin, _ = row(target, 1, 4.0)
    assert cos == 0.6152, "cos 应当是 0.540302 · 1.138629。\nThe cosine is 0.540302 · 1.138629."
    assert sin == 0.95812, "sin 应当是 0.841471 · 1.138629。\nThe sine is 0.841471 · 1.138629."


def test_a_factor_that_is_given(target):
    """配置里给出了缩放因子
    The config gives an attention factor"""
    assert row(target, 0, 4.0, 0.8) == [0.8, 0.8, 0.0, 0.0], "用给出的值。\nTake the value that is given."
    assert row(target, 0, 4.0, 1.0) == [1.0, 1.0, 0.0, 0.0], "1.0 也是给出的值。\n1.0 is given, too."


def test_nothing_to_scale(target):
    """`factor` 为 1，也没有给缩放因子
    `factor` 1, and no attention factor given"""
    assert row(target, 0, 1.0) == [1.0, 1.0, 0.0, 0.0], (
        "没有放长，就不缩放。\nNothing is stretched or scaled."
    )
