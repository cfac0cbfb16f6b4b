"""Stop strings in a text that comes in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.core import SamplingParams
from minisgl.tokenizer.detokenize import StopWatcher, hold_back


@pytest.mark.parametrize(
    ("text", "stops", "expected"),
    [
        ("abc<", ["<end>"], ("abc", "<", False)),
        ("a<", ["</s>"], ("a", "<", False)),
        ("abc", [], ("abc", "", False)),
        ("", ["x"], ("", "", False)),
        ("", [], ("", "", False)),
        ("one\ntwo", ["\n"], ("one", "", True)),
        ("x", ["x"], ("", "", True)),
        ("a STOP b END", ["END", "STOP"], ("a ", "", True)),
        ("caaa", ["aab"], ("ca", "aa", False)),
        ("caab", ["aab"], ("c", "", True)),
        ("ababab", ["ababc"], ("ab", "abab", False)),
        ("xab", ["abz", "bq"], ("x", "ab", False)),
        ("中文。", ["。。", "文。。"], None),
        ("中文。", ["文。。", "。!"], ("中", "文。", False)),
        ("a", ["x", "x"], ("a", "", False)),
    ],
)
def test_examples(text: str, stops: list[str], expected: tuple[str, str, bool] | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match=r"'。。' lies within another"):
            hold_back(text, stops)
    else:
        assert hold_back(text, stops) == expected


@pytest.mark.parametrize("text", ["", "abc"])
def test_an_empty_stop_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="empty"):
        hold_back(text, ["a", ""])


stops = st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3).map(
    lambda texts: list(SamplingParams(stop=tuple(texts)).stop)
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("abc", max_size=4), max_size=8), stops)
def test_cutting_the_text_changes_nothing(pieces: list[str], stops: list[str]) -> None:
    """However it comes: the same text is sent, as early as it can be, and never anything of a stop."""
    watcher, sent, start, text = StopWatcher(stops), "", 0, "".join(pieces)
    for piece in pieces:
        start += len(piece)
        sent += watcher.feed(piece)
        seen = text[:start]
        places = [seen.find(stop) for stop in stops if stop in seen]
        if places:
            assert watcher.stopped and sent == seen[: min(places)]
            assert watcher.feed("more") == "" and watcher.feed("", finished=True) == ""
            return
        ends = [i for i in range(start + 1) if any(s.startswith(seen[i:]) for s in stops)]
        assert not watcher.stopped and sent == seen[: min(ends)]
    assert sent + watcher.feed("", finished=True) == text


def test_the_end_of_the_text_releases_what_was_held() -> None:
    watcher = StopWatcher(["<end>"])
    assert watcher.feed("a <en") == "a " and watcher.held == "<en"
    assert watcher.feed("d", finished=True) == "<end" and not watcher.stopped
    assert StopWatcher(["<end>"]).feed("x<end>y", finished=True) == "x"


def test_a_stop_that_holds_another_is_dropped_from_the_parameters() -> None:
    assert SamplingParams(stop=("\n\n", "END", "\n", "END")).stop == ("END", "\n")
    assert SamplingParams(stop=("aba", "b")).stop == ("b",)
