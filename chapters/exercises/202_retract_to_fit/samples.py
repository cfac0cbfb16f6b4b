def running(uid, cached_len, pages, output=1, shared_pages=0, page_ends=True):
    """A request whose next token begins a page, or (`page_ends=False`) does not."""
    return {
        "uid": uid,
        "cached_len": cached_len,
        "device_len": cached_len + (1 if page_ends else 0),
        "pages": pages,
        "shared_pages": shared_pages,
        "prompt": [100 * uid + place for place in range(4)],
        "output": [500 + place for place in range(output)],
        "max_tokens": 3,
    }


def test_example(target):
    """题目里的例子
    The example"""
    back = target([running(0, 8, 2), running(1, 4, 1)], 1, 4, 0)
    assert back == [{"uid": 1, "input_ids": [100, 101, 102, 103, 500], "max_tokens": 2}], (
        "后接纳的回去，带着 5 个 token，还可以生成 2 个。\n"
        "The second goes back with 5 tokens, and may generate 2."
    )


def test_nobody_needs_a_page(target):
    """没有人要新页
    Nobody needs a page"""
    back = target([running(0, 8, 2, page_ends=False), running(1, 4, 1, page_ends=False)], 0, 4, 1)
    assert back == [], (
        "下一步谁也不要新页，空闲是 0 也不用请人。\nNobody needs a page, so with 0 free nobody has to go."
    )


def test_shared_pages_stay(target):
    """共用的页不会空出来
    Shared pages do not become free"""
    requests = [running(0, 8, 2), running(1, 8, 2), running(2, 4, 1, shared_pages=1)]
    back = [one["uid"] for one in target(requests, 0, 4, 0)]
    assert back == [2, 1], (
        "2 号走了一页也不空，1 号走了空出 2 页，0 号够了。\n"
        "Number 2 frees nothing, number 1 frees 2 pages, and then number 0 has enough."
    )


def test_the_watermark(target):
    """水位线，和只剩一个的时候
    The watermark, and where only one is left"""
    requests = [running(0, 8, 2), running(1, 4, 1, page_ends=False)]
    assert [one["uid"] for one in target(requests, 1, 4, 1)] == [1], (
        "要 1 页，留 1 页，只有 1 页：请走 1 号。\n1 is needed and 1 to be left, 1 is free: number 1 goes."
    )
    assert target(requests[:1], 1, 4, 1) == [], (
        "只剩一个时，水位线也可以用。\nOne that is alone may use the watermark."
    )
