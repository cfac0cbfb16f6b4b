"""Sentences become comment lines of a bounded width, in both languages."""

from __future__ import annotations

import pytest

from judge.comments import columns, comment_lines

ZH = "接纳时，命中前缀的 token 写进 `token_pool[slot, :cached_len]`，别处都不动；两张表都一样。"
EN = "The hit prefix's tokens go into `token_pool[slot, :cached_len]`, and nothing else is written."


@pytest.mark.parametrize("text", [ZH, EN, "1. " + ZH, "12. " + EN])
@pytest.mark.parametrize("width", [40, 60, 96])
def test_lines_are_short_and_say_everything(text, width):
    lines = comment_lines(text, width)
    assert all(line.startswith("# ") and columns(line) <= width + 2 for line in lines)
    said = "".join(line.removeprefix("#").strip() for line in lines)
    assert said.replace(" ", "") == text.replace(" ", "")
    assert all(line.count("`") % 2 == 0 for line in lines), "code stays on one line"
    assert not any(line.removeprefix("#").strip()[0] in "，。；" for line in lines)


def test_what_follows_a_number_is_indented_below_it():
    assert comment_lines("1. one two three", 10) == ["# 1. one", "#    two", "#    three"]


def test_a_chinese_character_takes_two_columns():
    assert columns("页 a") == 4
    assert comment_lines("一二三四五", 8) == ["# 一二三", "# 四五"]


def test_a_short_sentence_is_one_line():
    assert comment_lines("Check first") == ["# Check first"]
