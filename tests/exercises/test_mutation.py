"""The hidden tests kill the single-point mutants of each reference, all but those that change nothing."""

from __future__ import annotations

import ast

import pytest

from judge.exercises import find, load_exercises
from judge.harness.local import load_target
from judge.solution import solution_text
from tools.mutate import _have_own_data, mutants, survivors

EQUIVALENT = {
    "req_lengths": {
        # the array that doubles could as well be made anew each time, or with other sizes
        "if store is None or length == len(store):",
        "length == len(store) -> length != len(store)",
        "self -> array",
        "self -> length",
        "self -> next_token",
        "self -> torch",
        "16 -> 17",
        "16 -> 15",
        "2 -> 3",
        "2 -> 1",
    },
    # a product of bfloat16 and float32 is float32
    "apply_rope": {"x.float() -> x"},
    # ln 1 is 0; torch has a pi of its own
    "yarn_factor": {"factor > 1 -> factor >= 1", "math -> torch"},
    "merge_projections": {
        # parts that do not fit together are beyond the contract
        "raise ValueError(f'the parts of",
        "error -> ",
    },
    "paged_attention": {
        # requests with one query each could as well run with the others: it is only slower
        "if len(q) == len(page_table):",
        "return attend(q.unsqueeze(1), page_table, cache_seqlens).flatten(0, 1) -> pass",
        "page_table -> cache_seqlens",
        "page_table -> k_cache",
        "page_table -> v_cache",
        # a single query loses 0 of what it sees
        "if n > 1:",
        "n > 1 -> n >= 1",
        "1 -> 0",
        "n -> keys",
        # any tensor is on the device, and has as many rows
        *(f"q -> {name}" for name in ("cache_seqlens", "cu_seqlens_q", "k_cache", "page_table", "v_cache")),
        *(f"q -> {name}" for name in ("k", "lengths", "locations", "position", "table", "v", "visible")),
        "k_cache -> v_cache",
        "v_cache -> k_cache",
        # one block of queries holds all of them, unless prompts are very long
        "_blocks(n, len(q) * keys) -> ",
        "keys -> n",
        # a wider row than the longest is masked
        *(f"lengths -> {name}" for name in ("cache_seqlens", "k_cache", "page_table", "v_cache")),
        ":int(lengths.max()) -> :",
        # dimensions have no order here, and a list or a tensor does for an index
        "attended.transpose(1, 2) -> ",
        "k_cache.index_select(0, locations).view(",
        "v_cache.index_select(0, locations).view(",
        "q[:, block].transpose(1, 2) -> ",
        "rows -> requests",
        "cu_seqlens_q.tolist() -> cu_seqlens_q",
    },
    # a sum has no order
    "residual_stream": {"self.post_attention_layernorm.forward(x, residual) -> "},
    "filter_probs": {
        # no sum is that close to top_p
        "before >= top_p[:, None] -> before > top_p[:, None]",
        # without the guard of top_p 1 only rounding could exclude a token
        "top_p[:, None] < 1 -> top_p[:, None] <= 1",
        "1 -> 2",
        "top_p -> min_p",
        # the last dimension is dimension 1
        "-1 -> 1",
        # of each only the shape is used, or the device
        "probs -> ids",
        "probs -> ordered",
        "probs -> before",
        "probs -> top_k",
        "probs -> top_p",
        "probs -> min_p",
    },
    # both lists are equally long
    "plan_num_pages": {"True -> False"},
    # both lists are equally long; a block holds at least 1 token
    "kv_footprint": {"True -> False", "0 -> 1", "0 -> -1"},
    "page_address": {
        # a list raises the same IndexError by itself
        "if logical >= len(block_table):",
        "logical >= len(block_table) -> logical > len(block_table)",
        "raise IndexError(f'logical block {logical} in a table of {len(block_table)}') -> pass",
    },
    # the first `shared` tokens of both are equal
    "radix_split": {"edge_tokens -> query_tokens"},
    # each decode has one entry; a prompt that is cut is the last, whatever is left of the budget then
    "plan_mixed": {"plan -> decode_uids", "tokens -> remain"},
    # nobody has gone yet
    "retract_to_fit": {"kept -> running"},
    # in the annotation
    "overlap_loop": {"ForwardData -> "},
    "evict": {
        # the root has a lock, so that it is never evictable; a node in the heap is not the root
        "not parent.is_root and _is_evictable(parent) -> _is_evictable(parent)",
        "parent -> node",
        # every node knows the tree's key_fn
        "self -> ",
        # in an annotation
        "torch -> ",
    },
    # of what goes into the trace
    "slot_reuse": {"req -> ", "True -> False"},
    "overlap_finish": {
        # in annotations
        "DetokenizeMsg -> ",
        "Req -> ",
        # of what goes into the trace
        "req -> ",
        "False -> True",
        # a batch has a token for each of its requests
        "True -> False",
    },
    # the cache copies what it takes, and the tail of the row is the same before and after
    "cache_req": {"locations -> row"},
    "stale_row": {"locations -> row"},
    "allocate_paged": {
        # no pages may be asked for, or nobody asked
        "if not rows:     return -> if False",
        "return -> pass",
        "rows -> cdiv",
        "rows -> ends",
        "rows -> flat_ranges",
        "rows -> reqs",
        "rows -> self",
        "rows -> starts",
        "rows -> to_device",
        "rows -> torch",
        # a range of no positions
        "if first_page < last_page:     rows += [req.table_idx]     starts += [first_page * self.page_size]"
        "     ends += [last_page * self.page_size] -> if True",
        "first_page < last_page -> first_page <= last_page",
        # the device, which is the same
        "self -> locations",
        "self -> torch",
    },
}


@pytest.mark.parametrize(
    "key", [one.key for one in load_exercises().values() if one.form != "write_the_tests"]
)
def test_hidden_tests_kill_single_point_mutants(key: str) -> None:
    """Not of tests that a learner writes: most of their points may as well be others."""
    exercise = find(key)
    alive, count = survivors(exercise, "mutation")
    assert count > 12
    known = EQUIVALENT.get(exercise.slug, set())
    unexplained = [c.what for c in alive if not any(c.what.startswith(what) for what in known)]
    assert unexplained == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a < 2", {"a <= 2", "3", "1", "b", "pass"}),
        ("return f(a, b)", {"f(b, a)", "b", "a"}),
        ("x = a[1:]\nreturn x", {":", "2", "0", "b"}),
    ],
)
def test_mutator_changes_one_point(body: str, expected: set[str]) -> None:
    source = "def target(a, b):\n" + "".join(f"    {line}\n" for line in ["b", *body.splitlines()])
    changed = [change.what.partition(" -> ")[2] for change in mutants(source, "target")]
    assert expected <= set(changed)
    texts = [change.source for change in mutants(source, "target")]
    assert len(set(texts)) == len(texts)
    for text in texts:
        assert ast.parse(text)


def test_mutator_leaves_messages_and_traces_alone() -> None:
    source = 'def target(a):\n    if a:\n        raise ValueError(f"{a} {1}")\n    trace.emit("x", a)\n'
    assert not [c for c in mutants(source, "target") if "trace" in c.source or "{2}" in c.source]


def test_mutator_leaves_annotations_and_inner_docstrings_alone() -> None:
    source = (
        'def target(a: b) -> b:\n    def inner(c: b) -> b:\n        """Doc."""\n        return c\n\n'
        "    d: b = inner(a)\n    return d + b\n"
    )
    changed = [change.what for change in mutants(source, "target")]
    assert sum(what.startswith("b -> ") for what in changed) == len({"a", "c", "d", "inner"})
    assert not any("Doc" in what for what in changed)


def test_mutator_goes_through_the_methods_of_a_class() -> None:
    source = (
        'class Target:\n    """Doc."""\n\n    size = 1\n\n'
        '    def grow(self):\n        """Doc."""\n        self.size += 1\n\n'
        "    @property\n    def full(self):\n        return self.size > 8\n"
    )
    changed = {change.what for change in mutants(source, "Target")}
    assert {"self.size += 1 -> pass", "self.size > 8 -> self.size >= 8", "8 -> 9"} <= changed
    assert not any("Doc" in what for what in changed)


def test_a_mutant_writes_into_a_copy_of_what_it_imports() -> None:
    """Else the reference, which comes after it, would read what it wrote."""
    from minisgl.models.weight import _MERGED_OF

    target = load_target(find("172"), solution_text(find("172")), "<mutant>")
    assert target.__globals__["_MERGED_OF"] is _MERGED_OF
    _have_own_data(target)
    assert target.__globals__["_MERGED_OF"] is not _MERGED_OF
    assert target.__globals__["_MERGED_OF"] == _MERGED_OF
