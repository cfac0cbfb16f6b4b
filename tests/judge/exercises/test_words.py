"""The catalogue: both languages have the same entries with the same placeholders."""

from __future__ import annotations

import string

import pytest

from judge.i18n import _catalogue, both, t


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def test_both_languages_say_the_same_things():
    zh, en = _catalogue("zh"), _catalogue("en")
    assert zh.keys() == en.keys()
    assert zh["verdict"].keys() == en["verdict"].keys()
    for name, template in zh["verdict"].items():
        assert placeholders(template) == placeholders(en["verdict"][name]), name


def test_chinese_is_punctuated_in_full_width():
    for name, template in _catalogue("zh")["verdict"].items():
        assert template[-1] not in ".,;:!?", name


def test_values_that_are_texts_are_taken_in_their_language():
    text = both("verdict.wa", group=3, text={"zh": "少了一页。", "en": "A page is missing."})
    assert text["zh"] == "答案错误，第 3 组。少了一页。"
    assert text["en"] == "Wrong answer, group 3. A page is missing."


def test_what_is_missing_is_named():
    with pytest.raises(KeyError, match="no_such_entry"):
        t("verdict.no_such_entry", "zh")
    with pytest.raises(KeyError, match="group"):
        t("verdict.wa", "zh", text="")
    with pytest.raises(ValueError, match="'fr'"):
        t("verdict.ac", "fr")
