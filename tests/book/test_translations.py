"""An English page says when the Chinese has changed since they were compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.book import translations
from tools.book.preprocess import page_html
from tools.book.site import read_site
from tools.book.translations import FILE, fingerprint, is_stale, main


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for lang in ("zh", "en"):
        (tmp_path / "chapters" / lang).mkdir(parents=True)
        (tmp_path / "chapters" / lang / "a.md").write_text(f"---\ntitle: {lang}\nlead: x\n---\n\ntext\n")
    monkeypatch.setattr(translations, "ROOT", tmp_path)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["translations", *arguments])
    return main()


def test_a_page_is_stale_once_its_original_changed(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not is_stale(root, "a")  # never compared
    assert run(monkeypatch, "a.md") == 0
    assert json.loads((root / FILE).read_text()) == {"a": fingerprint(root, "a")}
    assert run(monkeypatch) == 0
    with (root / "chapters" / "zh" / "a.md").open("a") as file:
        file.write("more\n")
    assert is_stale(root, "a")
    assert run(monkeypatch) == 1
    assert capsys.readouterr().out == "chapters/en/a.md is older than chapters/zh/a.md\n"
    site = read_site()
    english = page_html(Path("chapters/en/a.md"), "en", site, root)
    assert "This translation is older than the Chinese original" in english
    assert 'href="../zh/a.html"' in english
    assert "older" not in page_html(Path("chapters/zh/a.md"), "zh", site, root)


def test_a_page_that_is_none_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "b") == 2
    assert not (root / FILE).exists()
