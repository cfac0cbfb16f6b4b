"""States of the animations: as they must be at certain steps, and the same whichever way one gets there."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from folding import HERE, Fold, read

from tools.animations.build import NAMES, words

GOLDEN = HERE / "golden"


def chosen(count: int) -> list[int]:
    """Some steps of a run, not in order."""
    last = count - 1
    return sorted({0, last // 4, last // 2, last * 3 // 4, last}, key=lambda k: (k * 7919) % 11)


def lines(states: dict[str, Any]) -> str:
    """JSON with a line for each state."""
    rows = (f'"{k}": {json.dumps(state, sort_keys=True)}' for k, state in states.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


@pytest.mark.parametrize("name", NAMES)
def test_states_are_the_golden_ones(name: str, fold: Fold) -> None:
    """`MINISGL_GOLDEN=1 pytest tests/animations` writes them anew; then look at what has changed."""
    path = GOLDEN / f"{name}.json"
    steps = len(fold(name, read(name)).steps)
    ks = sorted(chosen(steps))
    got = {str(k): state for k, state in zip(ks, fold(name, read(name), ks).at, strict=True)}
    if os.environ.get("MINISGL_GOLDEN"):
        path.write_text(lines(got), encoding="utf-8")
    assert got == json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_back_and_forth_is_the_same_as_from_the_start(name: str, fold: Fold) -> None:
    steps = len(fold(name, read(name)).steps)
    ks = [*range(0, steps, 3), *chosen(steps), *range(steps - 1, -1, -5)]
    got = fold(name, read(name), ks)
    assert got.at == got.folded


@pytest.mark.parametrize("name", NAMES)
def test_every_event_belongs_to_a_step_and_every_step_says_something(name: str, fold: Fold) -> None:
    got = fold(name, read(name))
    ends = [0, *(step["to"] for step in got.steps)]
    assert [step["from"] for step in got.steps] == ends[:-1]
    assert ends[-1] <= len(read(name))
    assert all(note["note"] for note in got.notes)
    assert not any(note["alerts"] for note in got.notes)


@pytest.mark.parametrize("name", NAMES)
def test_notes_have_words_in_both_languages(name: str, fold: Fold) -> None:
    """Each key is in the catalogue, and nothing of a sentence stays open."""
    catalogue = words(name)
    assert catalogue["zh"].keys() >= {key.removesuffix("_one") for key in catalogue["en"]}
    for entry in fold(name, read(name)).notes:
        for note in [entry["note"], *entry["alerts"]]:
            for lang in ("zh", "en"):
                text = catalogue[lang][note["key"]]
                assert set(re.findall(r"\{(\w+)\}", text)) <= note["values"].keys(), (note["key"], lang)


SOURCE_KEYS = re.compile(rf"""["`]((?:player|{"|".join(NAMES)})_[a-z0-9_]+)["`]""")


@pytest.mark.parametrize("name", NAMES)
def test_keys_that_the_source_names_are_in_the_catalogue(name: str) -> None:
    folder = HERE.parents[1] / "animations"
    files = [*(folder / name).glob("*.ts"), *(folder / "player").glob("*.ts")]
    named = {key for file in files for key in SOURCE_KEYS.findall(file.read_text(encoding="utf-8"))}
    known = words(name)
    for lang in ("zh", "en"):
        missing = {
            key
            for key in named - {"page_table_write"}
            if not any(have.startswith(key) for have in known[lang])
        }
        assert not missing


def test_the_same_placeholders_in_both_languages() -> None:
    """But for the singular, in which a language may say "one"."""
    for name in NAMES:
        catalogue = words(name)
        for key, text in catalogue["zh"].items():
            zh, en = (set(re.findall(r"\{(\w+)\}", one)) for one in (text, catalogue["en"][key]))
            assert zh == en or key.endswith("_one") or zh ^ en <= {"n", "reqs", "k"}, key


def owners(state: dict[str, Any]) -> list[str]:
    return [page["owner"] for page in state["pages"]]


def test_each_page_has_one_owner_at_each_step(fold: Fold) -> None:
    """Whoever the fold says owns a page is named by it alone, and its row names the page."""
    steps = len(fold("kv_pool", read("kv_pool")).steps)
    for state in fold("kv_pool", read("kv_pool"), range(steps), folded=False).at:
        assert len(state["pages"]) == 20
        assert set(owners(state)) <= {"free", "cache", "new", "r0", "r1", "r2", "r3"}
        for i, page in enumerate(state["pages"]):
            if page["owner"].startswith("r"):
                row = state["rows"][page["owner"][1:]]["pages"]
                assert i * 4 in row or i * 4 in (state["call"] or {"before": {}})["before"].values()
            assert (page["fill"] == 0) if page["owner"] == "free" else (0 <= page["fill"] <= 4)


def test_the_pool_ends_with_every_page_free_or_cached(fold: Fold) -> None:
    state = fold("kv_pool", read("kv_pool")).at[0]
    assert sorted(set(owners(state))) == ["cache", "free"]
    assert state["note"]["key"] == "kv_pool_idle"
    assert state["note"]["values"] == {"free": 9, "held": 0, "cached": 11, "lost": 0, "total": 20}


def test_a_row_is_pointed_at_the_cache_before_its_copy_is_free(fold: Fold) -> None:
    """The second of two requests with the same 12 tokens: named before, named now, and then given back."""
    repointed, freed, after = fold("kv_pool", read("kv_pool"), [10, 12, 13]).at
    assert repointed["call"]["row"] == [0, 4, 8, 28] and repointed["call"]["bounds"] == [0, 12, 12, 13]
    assert repointed["call"]["before"] == {"0": 16, "1": 20, "2": 24}
    assert owners(repointed)[4:7] == ["r1"] * 3 and owners(freed)[4:7] == ["free"] * 3
    assert freed["call"]["region"] == "B" and after["call"] is None


def test_the_fifth_request_waits_for_what_is_promised(fold: Fold) -> None:
    """Chapter 8's numbers: 61 of 64 are promised, 13 more do not fit; in the end 16 forwards."""
    got = fold("scheduler_timeline", read("scheduler_timeline"))
    refusals = [n["note"]["values"] for n in got.notes if n["note"]["key"].endswith("refused_memory")]
    assert (refusals[0]["need"], refusals[0]["reserved"], refusals[0]["available"]) == (13, 61, 64)
    last = got.at[0]
    assert len(last["columns"]) == 16 and last["taken"] == 0
    assert [one["generated"] for one in last["reqs"]] == [8] * 5
    assert last["reqs"][4]["admitted"] == 8 and set(map(int, last["reqs"][4]["refused"])) == set(range(8))


def test_a_tree_s_nodes_spell_the_prompts(fold: Fold) -> None:
    got = fold("radix_tree", read("radix_tree"), [8, -1])
    forked, last = got.at
    by_id = {node["id"]: node for node in forked["nodes"]}
    spelled = set()
    for node in forked["nodes"]:
        ids, at = list(node["ids"]), node
        while at["parent"] is not None:
            at = by_id[at["parent"]]
            ids = at["ids"] + ids
        spelled.add(tuple(ids))
    assert {(1, 2), (1, 2, 3, 4), (1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 7, 8, 9)} == spelled
    assert all(node["locks"] > 0 for node in forked["nodes"])
    assert all(node["locks"] == 0 for node in last["nodes"])
    assert sum(len(node["locations"]) for node in last["nodes"]) == 26


def test_golden_files_are_of_animations() -> None:
    assert {path.stem for path in Path(GOLDEN).glob("*.json")} == set(NAMES)
