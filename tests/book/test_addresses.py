"""Which repository the pages link to."""

import pytest

from tools.book.site import web_address


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
