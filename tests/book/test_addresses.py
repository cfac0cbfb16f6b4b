"""Which repository the pages link to, and which policy they carry."""

from pathlib import Path

import pytest

from tools.book.site import POLICY, set_policy, web_address


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://git.example.org/a/b.git", "https://git.example.org/a/b"),
        ("https://user:secret@git.example.org/a/b", "https://git.example.org/a/b"),
        ("git@git.example.org:a/b.git", "https://git.example.org/a/b"),
        ("ssh://git@git.example.org:2222/a/b.git", "https://git.example.org/a/b"),
        ("/srv/git/b.git", ""),
        ("../b", ""),
        ("", ""),
    ],
)
def test_a_remote_as_a_web_address(remote: str, address: str) -> None:
    assert web_address(remote) == address


def test_the_sites_policy_reaches_every_page_and_no_other_copy(tmp_path: Path) -> None:
    page, kept = tmp_path / "book" / "zh" / "a.html", tmp_path / "kept.html"
    page.parent.mkdir(parents=True)
    kept.write_text(f'<meta content="{POLICY}">{POLICY}')
    page.hardlink_to(kept)
    set_policy(tmp_path / "book", "default-src 'self'")
    assert page.read_text() == f"<meta content=\"default-src 'self'\">{POLICY}"
    assert POLICY in kept.read_text().split(">")[0]
    assert [path.name for path in page.parent.iterdir()] == ["a.html"]
