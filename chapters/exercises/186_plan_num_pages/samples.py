GIB = 2**30
PAGE = 1_835_008  # Qwen3-0.6B, 16 tokens


def refused(target, *args):
    """Whether the call raises ValueError."""
    try:
        target(*args)
    except ValueError:
        return True
    return False


def test_example(target):
    """题目里的例子：24 GiB，装载后 22 GiB
    The example: 24 GiB, 22 GiB after loading"""
    pages = target([24 * GIB], [22 * GIB], 0.9, PAGE)
    assert pages == 11467, "11,468 个整页，减去填充用的一页。\n11,468 whole pages, less the one for padding."


def test_least_room(target):
    """三张卡，一页 10 字节，比例 0.5
    Three ranks, pages of 10 bytes, ratio 0.5"""
    pages = target([1000, 1000, 800], [900, 700, 800], 0.5, 10)
    assert pages == 19, "余地是 400、200、400，取 200。\nThe rooms are 400, 200 and 400: take 200."


def test_override(target):
    """指定了页数，内存再少也照用
    The number is given, however little memory there is"""
    pages = target([0], [0], 0.9, 10, 7)
    assert pages == 7, "照用，也不减 1。\nIt is taken as it is, not less 1."


def test_too_small(target):
    """放不下两页
    Two pages do not fit"""
    assert target([30], [30], 1.0, 10) == 2, (
        "三个整页，减 1 是 2，正好。\nThree whole pages, less 1, are 2: just enough."
    )
    assert refused(target, [29], [29], 1.0, 10), "只剩 1 页：ValueError。\nJust 1 page: ValueError."
    assert refused(target, [1000], [1000], 1.0, 10, 1), (
        "指定 1 页也不行。\nAn override of 1 will not do, either."
    )
