"""What may be imported in a box: the engine without the target's body, and no secret module."""

import ast

import pytest

from judge.sandbox import UnknownTarget, make_bundle
from judge.sandbox.bundle import cut_out

MODULE = '''
"""A module."""
import os

if os.name == "posix":
    def helper(x):
        return x + 1  # a comment that gives much away

class Pool:
    """A pool."""

    size = 3

    @property
    def free(self):
        """How many."""
        return self.size - 1

    @free.setter
    def free(self, value):
        self.size = value + 1

    async def wait(self, *, now: bool = False) -> int:
        return 40 + 2

def helper(x):
    return x + 2
'''


def bodies(source):
    return {
        node.name: [ast.unparse(statement) for statement in node.body]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_definition_of_a_function_loses_its_body():
    cut = cut_out(MODULE, "helper")
    assert "x + 1" not in cut and "x + 2" not in cut and "comment" not in cut
    assert "self.size - 1" in cut and "def wait(self, *, now: bool=False) -> int:" in cut


def test_a_property_loses_getter_and_setter():
    cut = cut_out(MODULE, "Pool.free")
    assert "self.size" not in cut and "How many" not in cut and "@free.setter" in cut
    assert "x + 1" in cut and "40 + 2" in cut


def test_a_class_loses_its_members_or_all_methods():
    assert "40 + 2" in cut_out(MODULE, "Pool", ["free"])
    assert "self.size - 1" not in cut_out(MODULE, "Pool", ["free"])
    everything = cut_out(MODULE, "Pool")
    assert "40 + 2" not in everything and "size = 3" in everything


def test_what_is_left_raises():
    namespace = {}
    exec(cut_out(MODULE, "helper"), namespace)
    with pytest.raises(NotImplementedError, match="helper"):
        namespace["helper"](1)


@pytest.mark.parametrize("name", ["nothing", "Pool.nothing", "Nothing.free", ""])
def test_an_unknown_target_is_an_error(name):
    with pytest.raises(UnknownTarget):
        cut_out(MODULE, name)


def test_an_unknown_member_is_an_error():
    with pytest.raises(UnknownTarget, match="nothing"):
        cut_out(MODULE, "Pool", ["free", "nothing"])


def exercise(target, *members, also_cut=()):
    return type("Exercise", (), {"target": target, "members": list(members), "also_cut": list(also_cut)})


def test_a_bundle_holds_the_engine_and_the_inside_and_nothing_secret():
    bundle = make_bundle(None)
    assert {
        "minisgl.core",
        "judge.swap.program",
        "judge.sandbox.inside.loop",
        "judge.sandbox.protocol",
    } <= set(bundle.sources)
    judge = {name for name in bundle.sources if name.startswith("judge")}
    allowed = (
        "judge.swap",
        "judge.sandbox.inside",
        "judge.sandbox.protocol",
        "judge.sandbox.importer",
        "judge.sandbox.values",
        "judge.sandbox.tensors",
    )
    assert {name for name in judge if not name.startswith(allowed)} == {"judge", "judge.sandbox"}
    assert bundle.sources["judge"] == bundle.sources["judge.sandbox"] == ""


def test_only_the_target_is_missing_from_an_exercises_bundle():
    whole, cut = make_bundle(None), make_bundle(exercise("minisgl.scheduler.cache:CacheManager.cache_req"))
    differing = {name for name in whole.sources if whole.sources[name] != cut.sources[name]}
    assert differing == {"minisgl.scheduler.cache"}
    before, after = (
        bodies(whole.sources["minisgl.scheduler.cache"]),
        bodies(cut.sources["minisgl.scheduler.cache"]),
    )
    assert {name for name in before if before[name] != after[name]} >= {"cache_req"}
    assert len(after["cache_req"]) == 1 and after["cache_req"][0].startswith("raise NotImplementedError")
    assert before["allocate_paged"][-1] == after["allocate_paged"][-1]


def test_a_target_outside_the_engine_leaves_the_bundle_whole():
    assert make_bundle(exercise("page_address")).sources == make_bundle(None).sources


@pytest.mark.parametrize("name", ["greedy_generate", "causal_mask"])
def test_a_function_of_the_one_file_engine_is_cut_out_of_it(name):
    whole, cut = make_bundle(None), make_bundle(exercise(name))
    differing = {module for module in whole.sources if whole.sources[module] != cut.sources[module]}
    assert differing == {"examples.ch00_tiny_engine"}
    before, after = (bodies(bundle.sources["examples.ch00_tiny_engine"]) for bundle in (whole, cut))
    assert {function for function in before if before[function] != after[function]} == {name}
    assert after[name][0].startswith("raise NotImplementedError")


def test_a_target_that_the_engine_lacks_is_an_error():
    for target in ("minisgl.nothing:f", "minisgl.core:nothing"):
        with pytest.raises(UnknownTarget):
            make_bundle(exercise(target))


def test_bundles_of_different_targets_have_different_keys():
    names = ("CacheManager.cache_req", "CacheManager.allocate_paged")
    keys = {make_bundle(exercise(f"minisgl.scheduler.cache:{name}")).key for name in names}
    assert len(keys | {make_bundle(None).key}) == 3


def test_what_does_the_same_is_cut_out_too():
    twin = "minisgl.attention.torch_backend:split_attention"
    cut = make_bundle(exercise("minisgl.attention.torch_backend:paged_attention", also_cut=[twin]))
    source = cut.sources["minisgl.attention.torch_backend"]
    assert "split_attention is the function of this exercise" in source
    assert "paged_attention is the function of this exercise" in source
    with pytest.raises(UnknownTarget, match="no_such"):
        make_bundle(exercise("page_address", also_cut=["minisgl.core:no_such"]))
