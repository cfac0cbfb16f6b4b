"""Attacks on the real exercises, through the whole judge: never accepted, never said to be our fault."""

from __future__ import annotations

import os
import secrets

import pytest
from arena import descendants, groups, open_pool

from judge.exercises import find
from judge.run import judge_submission
from judge.sandbox import Limits, make_bundle
from judge.solution import solution_text
from judge.types import Verdict

FRAMES = """
import sys
from judge.sandbox import protocol

def channel():
    frame = sys._getframe()
    while "io" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["io"]._channel

def forge(kind, *fields):
    there = channel()
    there._all(protocol.encode(kind(there._index, *fields)))
    there._index += 1
"""


@pytest.fixture(scope="module")
def strict():
    with open_pool() as pool:
        yield pool


@pytest.fixture
def judged(strict):
    """Judge it as the service would, hidden cases alone; nothing may be left behind."""

    def judged(number, code, **options):
        result = judge_submission(find(number), code.encode(), pool=strict, engine=False, **options)
        assert result.verdict is not Verdict.AC and result.verdict is not Verdict.SE, result.message
        return result

    before = len(os.listdir("/proc/self/fd"))
    yield judged
    assert groups(strict) == []
    assert len(os.listdir("/proc/self/fd")) <= before + 12  # a base zygote and templates, once
    boxes = descendants(strict._backend.zygote_pid())
    assert len(boxes) <= 2 + len(strict._backend._templates)


INSERTS = {
    "a longer one than there are tokens": "torch.arange(20_000, dtype=torch.int32)",
    "the most that fits into a frame": "torch.arange(120_000, dtype=torch.int32)",
    "none at all": "torch.zeros(0, dtype=torch.int32)",
    "negative numbers": "torch.full((512,), -(1 << 31), dtype=torch.int32)",
    "not a number": "float('nan')",
    "a deep list": "eval('[' * 60 + ']' * 60)",
}


@pytest.mark.parametrize("name", INSERTS)
def test_49_insertions_that_no_request_makes(judged, name):
    code = (
        "import torch\ndef cache_req(self, req, *, finished):\n"
        f"    odd = {INSERTS[name]}\n"
        "    held, new = self.prefix_cache.insert_prefix(odd, odd)\n"
        "    self.unlock(req.cache_handle)\n"
    )
    assert judged("192", code).verdict in (Verdict.WA, Verdict.OLE)


def test_49_insertions_without_end(judged):
    code = (
        "import torch\ndef cache_req(self, req, *, finished):\n"
        "    odd = torch.arange(4000, dtype=torch.int32)\n"
        "    while type(self.prefix_cache).__name__ == 'Proxy': self.prefix_cache.insert_prefix(odd, odd)\n"
    )
    assert judged("192", code).verdict in (Verdict.WA, Verdict.OLE)


FLOODS = {
    "dicts": "forge(protocol.Emit, [{}] * 190_000)",
    "tensors": "forge(protocol.Emit, [protocol.pack(torch.tensor(True))] * 8_000)",
    "opaque values": "forge(protocol.Emit, [protocol.pack({1})] * 60_000)",
    "arguments": "forge(protocol.Call, 'insert', [{}] * 190_000); channel().receive()",
}


@pytest.mark.parametrize("name", FLOODS)
def test_11_small_frames_of_many_objects(judged, name):
    """A few megabytes of these would be half a gigabyte of objects in the judge."""
    code = f"import torch\n{FRAMES}\ndef cache_req(self, req, *, finished):\n    while True: {FLOODS[name]}\n"
    assert judged("192", code).verdict is Verdict.OLE


def test_31_forged_samples_are_short(judged):
    code = (
        "from judge.sandbox.inside import samples\n"
        "samples._run_one = lambda name, *rest: samples.Outcome(name, True, 1, 'a' * 200_000, 'b' * 200_000)\n"
        "def cache_req(self, req, *, finished): pass\n"
    )
    assert judged("192", code).verdict is Verdict.PE


def test_30_a_lock_that_is_only_told(strict):
    """A box could write what its drive writes; the engine then has no lock."""
    code = solution_text(find("192")).replace("self.lock(new)", "forge(protocol.Emit, ['lock', new.number])")
    assert "forge" in code
    result = judge_submission(find("192"), (FRAMES + code).encode(), pool=strict)
    assert result.verdict is not Verdict.AC and result.verdict is not Verdict.SE


SEARCH = """
def {name}(*args, **kwargs):
    import gc, os, sys
    gc.unfreeze()
    needle = bytes(byte ^ 255 for byte in {masked!r})
    importer = next(finder for finder in sys.meta_path if hasattr(finder, "sources"))
    texts = [text.encode() for text in importer.sources.values()]
    for thing in gc.get_objects():
        texts += [t.encode("utf-8", "replace") for t in gc.get_referents(thing) if type(t) is str]
    os.write(1, f"{{sum(needle in text for text in texts)}} {{len(texts)}}".encode())
    os._exit(0)
"""


@pytest.mark.parametrize("number", ["176", "188", "196"])
def test_53_the_reference_of_an_adapter_is_nowhere(strict, number):
    """Not in the bundle, nor among the strings of a box, also after the reference ran in a box of its own."""
    exercise = find(number)
    accepted = judge_submission(exercise, exercise.solution.encode(), pool=strict)
    assert accepted.verdict is Verdict.AC
    line = max((line.strip() for line in exercise.solution.splitlines() if "(" in line), key=len)
    assert _found(strict, exercise, line) == 0
    assert _found(strict, exercise, "its body is yours to write", control=True) > 0


def _found(pool, exercise, text, *, control=False):
    masked = bytes(byte ^ 255 for byte in text.encode())
    source = SEARCH.format(name=exercise.name, masked=masked)
    if control:
        source = f"KEEP = {text + secrets.token_hex(4)!r}\n{source}"
    with pool.box(make_bundle(exercise), Limits(cpu_s=20, memory_mb=512)) as box:
        box.load(source.encode(), filename="mine.py", target=exercise.name)
        with pytest.raises(Exception, match="exit") as stopped:
            box.case("def drive(target, case, io):\n    target()\n", {})
    found, looked_at = map(int, stopped.value.usage.stdout.split())
    assert looked_at > 10_000
    return found


def test_what_the_engine_has_beside_the_target_is_no_way_out(judged):
    """Attention cut into one part is attention: the sandbox has neither."""
    result = judged(
        "181",
        "from minisgl.attention.torch_backend import split_attention\n"
        "def paged_attention(q, k_cache, v_cache, page_table, cu_seqlens_q, cache_seqlens, scale):\n"
        "    return split_attention(q, k_cache, v_cache, page_table, cu_seqlens_q, cache_seqlens, scale, 1)\n",
    )
    assert result.verdict is Verdict.RE and "not written yet" in result.message["en"]
