"""The line about the engine part: what an engine does not have is not spoken of."""

import pytest

from judge.cli.report import engine_line
from judge.types import EngineResult, Verdict


@pytest.mark.parametrize(("lang", "words"), [("zh", "页数对得上"), ("en", "pages balance")])
def test_pages_are_spoken_of_where_there_are_some(lang: str, words: str) -> None:
    result = EngineResult(Verdict.AC, tokens_equal=True, pages_balanced=True, model="m", speed_ratio=1.0)
    assert words not in engine_line(result, lang)
    result.pages_total = 8
    assert words in engine_line(result, lang)
    assert engine_line(result, lang).startswith("  ")
