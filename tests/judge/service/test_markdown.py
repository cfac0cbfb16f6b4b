"""Statements as HTML: where code in a table may be broken, and where not."""

from __future__ import annotations

from judge.service.markdown import render

TABLE = """\
| name | what `a` is |
| --- | --- |
| `cache_seqlens` | keys, `[0, 8)` |
| `self.prefix_cache.insert_prefix(ids, locs)` | `p <= 1 &amp; q` |

`self.prefix_cache.insert_prefix(ids, locs)` and `<b>`
"""


def test_code_in_a_cell_breaks_at_its_joints_only() -> None:
    html = render(TABLE)
    assert '<td><code class="short">cache_seqlens</code></td>' in html
    assert '<code class="short">[0, 8)</code>' in html and '<code class="short">a</code>' in html
    long = "self.<wbr>prefix_<wbr>cache.<wbr>insert_<wbr>prefix(<wbr>ids, locs)"
    assert f"<td><code>{long}</code></td>" in html


def test_outside_of_tables_code_stands_as_it_is() -> None:
    html = render(TABLE)
    assert "<p><code>self.prefix_cache.insert_prefix(ids, locs)</code> and <code>&lt;b&gt;</code></p>" in html
    assert "<wbr>" not in html.split("</table>")[1]


def test_what_is_escaped_stays_so() -> None:
    html = render("| a |\n| --- |\n| `a_long_name_of(<b>_&_)` |\n")
    assert "<code>a_<wbr>long_<wbr>name_<wbr>of(&lt;b&gt;_&amp;_)</code>" in html


def test_what_may_be_wider_than_a_phone_takes_the_focus() -> None:
    html = render("| a |\n| --- |\n| b |\n\n```python\n<pre>\n```\n")
    assert '<div class="scroll" tabindex="0"><table>' in html
    assert '<pre tabindex="0"><code class="language-python">&lt;pre&gt;' in html
