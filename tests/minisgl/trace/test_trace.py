"""The trace of a run: its schema, its order, the learner's lines."""

import inspect
import json
import textwrap
import threading
from pathlib import Path

import jsonschema
import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.message import AbortBackendMsg, UserMsg
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.scheduler import CacheManager
from minisgl.utils import trace

SCHEMA = json.loads(trace.SCHEMA_PATH.read_text(encoding="utf-8"))
GREEDY = SamplingParams(max_tokens=5, ignore_eos=True)


def make_llm(num_pages: int = 10, page_size: int = 4) -> LLM:
    config = tiny_config()
    return LLM((config, tiny_state_dict(config, 0)), num_page_override=num_pages, page_size=page_size)


def eventful_run() -> list[trace.Event]:
    """Waiting, sharing, evicting, aborting: every type of event."""
    llm = make_llm()
    with trace.recording(trace.Recorder(clock=lambda: 0.0)) as recorder:
        llm.generate([prompt(0, 9), prompt(0, 9), prompt(0, 5) + prompt(1, 5), prompt(2, 20)], GREEDY)
        llm.generate([prompt(3, 20)], GREEDY)
        llm.inbox.append(UserMsg(9, torch.tensor(prompt(0, 3), dtype=torch.int32), GREEDY))
        llm.normal_loop()
        llm.inbox.append(AbortBackendMsg(9))
        llm.normal_loop()
    return recorder.events


@pytest.fixture(scope="module")
def events() -> list[trace.Event]:
    return eventful_run()


def of_type(events: list[trace.Event], *types: str) -> list[trace.Event]:
    return [event for event in events if event["type"] in types]


def test_every_event_has_the_form_of_the_schema(events) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for event in events:
        validator.validate(event)
    # seen by tests of ranks, of graphs, of processes and of optimistic admission
    elsewhere = {"all_reduce", "all_gather", "graph_capture", "graph_replay", "message", "retract"}
    not_the_engine = {"footprint", "block_pool"}  # an exercise's own_run.py makes them
    due = set(SCHEMA["properties"]["type"]["enum"]) - elsewhere - not_the_engine
    assert {event["type"] for event in events} == due


def test_the_schema_refuses_what_is_not_an_event(events) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    good = of_type(events, "admitted")[0]
    for bad in ({**good, "more": 1}, {**good, "type": "lost"}, {**good, "slot": -1}, {**good, "v": 2}):
        assert not validator.is_valid(bad)
    assert not validator.is_valid({key: value for key, value in good.items() if key != "slot"})


def test_two_equal_runs_have_equal_traces(events) -> None:
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert eventful_run() == events


def test_a_trace_says_who_owns_each_page(events) -> None:
    """Fold the events: pages that are free, and those that are not, always make up the pool."""
    free = set(range(0, 40, 4))
    for event in events:
        if event["type"] == "allocate":
            assert free >= set(event["pages"])
            free -= set(event["pages"])
        elif event["type"] in ("free", "evict"):
            pages = set(event.get("pages", event.get("locations", [])[::4]))
            assert not free & pages
            free |= pages
    cached = 10 - len(free)
    inserted = sum(e["new_len"] - e["cached_len"] for e in of_type(events, "insert"))
    evicted = sum(len(e["locations"]) for e in of_type(events, "evict"))
    assert inserted - evicted == 4 * cached > 0


def test_rows_are_recorded_when_they_change(events) -> None:
    """The second of two equal prompts gets the first one's pages once these are cached."""
    writes = [e for e in of_type(events, "page_table_write") if e["req"] == 1]
    assert (writes[0]["start"], writes[0]["locations"]) == (0, list(range(12, 21)))
    assert (writes[1]["start"], writes[1]["locations"]) == (0, list(range(8)))
    assert [(e["start"], len(e["locations"])) for e in writes[2:]] == [(9, 1), (10, 1), (11, 1), (12, 1)]


def test_a_row_that_is_pointed_elsewhere_is_recorded_before_the_pages_are_freed(events) -> None:
    of_call = [e for e in events if e.get("req") == 1]
    kinds = [e["type"] for e in of_call]
    first_free = kinds.index("free")
    assert kinds[first_free - 4 : first_free + 2] == [
        "insert",
        "unlock",
        "page_table_write",
        "lock",
        "free",
        "cache_req",
    ]


def test_a_row_is_new_for_whoever_takes_it_next() -> None:
    recorder = trace.Recorder(clock=lambda: 0.0)
    row = torch.tensor([4, 5], dtype=torch.int32)
    recorder.watch_row(7, 0, row)
    recorder.forget_row(7)
    row[0] = 8
    with recorder.about(7):
        recorder.add("abort", {})
    recorder.watch_row(7, 1, row)
    assert [e["type"] for e in recorder.events] == ["page_table_write", "abort", "page_table_write"]
    assert (recorder.events[2]["start"], recorder.events[2]["locations"]) == (0, [8, 5])


def test_a_run_says_what_it_starts_with() -> None:
    llm = make_llm()
    for cached in ([], [0, 4, 8]):
        with trace.recording(trace.Recorder()) as recorder:
            llm.generate([prompt(0, 9)], GREEDY)
        setup = recorder.events[0]
        assert (setup["type"], setup["pages"], setup["page_size"], setup["overlap"]) == (
            "setup",
            10,
            4,
            False,
        )
        assert setup["cached"] == cached
        jsonschema.Draft202012Validator(SCHEMA).validate(setup)


def test_cached_prefixes_are_named_by_their_last_location(events) -> None:
    """Enough to follow the radix tree: each node has locations of its own."""
    inserts = of_type(events, "insert")
    assert (
        "last" not in inserts[0]
        and inserts[1]["last"] == inserts[0]["locations"][inserts[1]["cached_len"] - 1]
    )
    for event in of_type(events, "match", "lock", "unlock"):
        assert ("last" in event) == (event["cached_len"] > 0)


def test_what_costs_time_is_computed_only_for_a_recorder() -> None:
    calls: list[int] = []
    trace.emit("match", last=lambda: calls.append(1))
    assert not calls
    with trace.recording(trace.Recorder()) as recorder:
        trace.emit("match", length=3, last=lambda: None)
    assert "last" not in recorder.events[0] and recorder.events[0]["length"] == 3


def test_the_four_bounds_of_cache_req(events) -> None:
    first, second = of_type(events, "cache_req")[:2]
    assert (first["req"], first["finished"], first["bounds"]) == (0, False, [0, 0, 8, 9])
    assert (second["req"], second["finished"], second["bounds"]) == (1, False, [0, 8, 8, 9])


def test_events_of_the_cache_name_the_request_that_they_serve(events) -> None:
    assert [e["req"] for e in of_type(events, "match")[:3]] == [0, 1, 2]
    for kind in ("match", "lock", "unlock", "insert", "free", "split"):
        assert all("req" in e for e in of_type(events, kind))
    assert all("req" not in e for e in of_type(events, "allocate", "evict", "batch", "forward_start"))


def test_steps_sample_one_token_a_request(events) -> None:
    batches = of_type(events, "batch")
    ends = of_type(events, "finished")
    assert sum(len(batch["uids"]) for batch in batches) == len(of_type(events, "sampled"))
    assert all(end["tokens"] == 5 and end["reason"] == "length" for end in ends) and len(ends) == 5


def test_dump_writes_json_lines(events, tmp_path: Path) -> None:
    recorder = trace.Recorder()
    recorder.events = events
    recorder.dump(tmp_path / "run.jsonl")
    lines = (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == events


def test_time_is_the_injected_clock_s() -> None:
    ticks = iter([5.0, 5.5, 7.0])
    with trace.recording(trace.Recorder(clock=lambda: next(ticks))) as recorder:
        trace.emit("abort", req=0)
        trace.emit("abort", req=1)
    assert [event["t"] for event in recorder.events] == [0.5, 2.0]


def test_tensors_are_recorded_as_they_are_now() -> None:
    row = torch.tensor([1, 2, 3], dtype=torch.int32)
    with trace.recording(trace.Recorder()) as recorder:
        trace.emit("free", pages=row[1:])
        row.zero_()
    assert recorder.events[0]["pages"] == [2, 3]


def test_without_a_recorder_nothing_is_recorded() -> None:
    recorder = trace.Recorder()
    with trace.recording(recorder):
        trace.emit("abort", req=0)
    trace.emit("abort", req=1)
    assert trace.active() is None and len(recorder.events) == 1


def test_an_inner_recording_takes_over_for_a_while() -> None:
    with trace.recording(trace.Recorder()) as outer:
        trace.emit("abort", req=0)
        with trace.recording(trace.Recorder()) as inner:
            trace.emit("abort", req=1)
        trace.emit("abort", req=2)
    assert [event["req"] for event in outer.events] == [0, 2]
    assert [event["req"] for event in inner.events] == [1]


def test_another_thread_is_not_recorded() -> None:
    with trace.recording(trace.Recorder()) as recorder:
        thread = threading.Thread(target=trace.emit, args=("abort",), kwargs={"req": 0})
        thread.start()
        thread.join()
    assert recorder.events == []


def test_events_below_a_learner_s_function_carry_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    source = textwrap.dedent(inspect.getsource(CacheManager.cache_req))
    namespace = dict(vars(inspect.getmodule(CacheManager)))  # type: ignore[arg-type]
    exec(compile(source, "mine/192_cache_req.py", "exec"), namespace)
    monkeypatch.setattr(CacheManager, "cache_req", namespace["cache_req"])
    lines = source.splitlines()
    with trace.learner_file("mine/192_cache_req.py"), trace.recording(trace.Recorder()) as recorder:
        make_llm().generate([prompt(0, 9), prompt(0, 9)], GREEDY)
    assert all("self.prefix_cache.insert" in lines[e["line"] - 1] for e in recorder.of_type("insert"))
    assert all("self._free(" in lines[e["line"] - 1] for e in recorder.of_type("free"))
    assert all("self.unlock(" in lines[e["line"] - 1] for e in recorder.of_type("unlock"))
    assert [e["bounds"] for e in recorder.of_type("cache_req")][:2] == [[0, 0, 8, 9], [0, 8, 8, 9]]
    assert all("line" not in e for e in recorder.of_type("batch", "allocate", "match", "sampled"))
    with trace.recording(trace.Recorder()) as recorder:  # the file is no longer named
        make_llm().generate([prompt(0, 9)], GREEDY)
    assert all("line" not in e for e in recorder.events)


def test_a_learner_s_file_may_be_named_for_good() -> None:
    named = trace.learner_file("mine/named.py")
    namespace = {"emit": trace.emit}
    exec(compile("\ndef run():\n    emit('abort', req=0)\n", "mine/named.py", "exec"), namespace)
    with trace.recording(trace.Recorder()) as recorder:
        namespace["run"]()  # type: ignore[operator]
        with named:
            pass
        namespace["run"]()  # type: ignore[operator]
    assert [event.get("line") for event in recorder.events] == [3, None]
