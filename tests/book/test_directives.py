"""What each directive becomes, and what it says when something is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.book.directives import render
from tools.book.page import Page
from tools.book.site import ROOT, Site
from tools.book.source import Source, SourceError
from tools.book.symbols import find_symbol
from tools.steps import Steps

SITE = Site("https://git.example.org/course", "/{lang}/exercises/{id}")
CACHE = "minisgl/scheduler/cache.py"
MANIFEST = """
[chapter.08]
new = ["minisgl/a.py"]

[chapter.09]
new = ["minisgl/b.py"]
modified = ["minisgl/a.py"]
"""


def page(lang: str = "zh", root: Path = ROOT) -> Page:
    return Page(
        Source(Path("chapters/zh/08_x.md"), {"chapter": 8, "exercises": [192, 193]}), lang, SITE, root
    )


def html(text: str, lang: str = "zh") -> str:
    return render(page(lang), text, 1)


def problem(text: str) -> str:
    with pytest.raises(SourceError) as raised:
        html(text)
    return str(raised.value)


def test_include_shows_the_real_source_with_its_lines() -> None:
    stored = Steps().version(CACHE, 8)
    assert stored is not None
    symbol = find_symbol(stored, "CacheManager.allocate_paged")
    shown = html(f"```{{include}} {CACHE}#CacheManager.allocate_paged\n```")
    assert '<i class="f">allocate_paged</i>' in shown
    assert f"/blob/main/{stored.relative_to(ROOT)}#L{symbol.first}-L{symbol.last}" in shown
    assert stored.read_text().splitlines()[symbol.first - 1].strip().startswith("def allocate_paged")


def test_include_reads_the_files_of_its_chapter(tmp_path: Path) -> None:
    files = {
        "chapters/steps.toml": MANIFEST,
        "chapters/steps/08/minisgl/a.py": "value = 8\n",
        "minisgl/a.py": "value = 9\n",
        "minisgl/b.py": "",
        "README.md": "apart\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for chapter, value, link in (
        (8, "8", "chapters/steps/08/minisgl/a.py"),
        (9, "9", "minisgl/a.py"),
    ):
        source = Source(Path("chapters/zh/x.md"), {"chapter": chapter})
        asked = Page(source, "zh", SITE, tmp_path)
        shown = render(asked, "```{include} minisgl/a.py#value\n```", 1)
        assert value in re.sub(r"<[^>]*>", "", shown.split("<pre ")[1])
        assert f'/blob/main/{link}#L1-L1"' in shown
    assert "apart" in render(page(root=tmp_path), "```{include} README.md\n```", 1)
    with pytest.raises(SourceError, match=r"minisgl/b.py comes in chapter 9 only"):
        render(page(root=tmp_path), "```{include} minisgl/b.py\n```", 1)


def test_include_numbers_the_lines_that_have_a_reason() -> None:
    shown = html(f"```{{include}} {CACHE}#CacheManager.lock\n- `lock_handle` 因为。\n```")
    line = next(line for line in shown.splitlines() if "lock_handle" in line and "prefix_cache" in line)
    assert '<b class="ref" aria-hidden="true">1</b>' in line
    assert "<li>因为。</li>" in shown


def test_html_of_a_directive_has_no_empty_line() -> None:
    shown = html(f"```{{include}} {CACHE}#CacheManager\n```").strip()
    assert "\n\n" not in shown  # Markdown would end the HTML there
    assert "&#10;" in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n```{include} minisgl/none.py\n```", r"08_x.md:2: {include}: no file minisgl/none.py"),
        ("```{include} ../secret\n```", "no file ../secret"),
        (f"```{{include}} {CACHE}#CacheManager.none\n```", "cache.py has no CacheManager.none; there are: "),
        (
            f"```{{include}} {CACHE}#CacheManager.lock\n\n- `none` x\n```",
            "08_x.md:3: {include}: the code has no",
        ),
        (
            f"```{{include}} {CACHE}#CacheManager.lock\n- no piece\n```",
            "08_x.md:2: {include}: a reason reads",
        ),
        ("```{output} ch99\n```", "no output ch99.txt; run: python -m tools.book.outputs"),
        ("```{exercise} 999\n```", "08_x.md:1: {exercise}: no exercise 999"),
        ("```{animation} none\n```", "{animation}: no animation none, and no figure none.svg"),
        ("```{figure} none\n```", "{figure}: no figure none.svg"),
        ("```{animation} kv_pool\n:trace: none\n```", "no trace none.jsonl in animations/traces/"),
        ("```{tree}\nminisgl/none.py: x\n```", "08_x.md:2: {tree}: steps.toml does not know minisgl/none.py"),
        (
            "```{tree}\n```",
            "{tree}: not described: minisgl/kvcache/naive_cache.py, minisgl/scheduler/cache.py",
        ),
        (":::{selftest}\nanswer\n:::", "{selftest}: the question or title"),
        (":::{selftest} Why, after [this](a.md)?\nanswer\n:::", "{selftest}: a link cannot stand"),
        (":::{fold} More of [this](a.md)\ntext\n:::", "{fold}: a link cannot stand"),
        (":::{predict} question\n:::", "{predict}: the question stands after the name"),
        ("```{inclde} x\n```", "{inclde}: unknown directive; there are: animation, "),
        (":::{fold} x\ntext\n\n```{output} ch99\n```\n:::", "08_x.md:4: {output}"),
    ],
)
def test_errors_name_file_line_and_directive(text: str, said: str) -> None:
    assert said in problem(text)


def test_exercise_is_a_section_that_the_site_brings_to_life() -> None:
    assert 'href="/zh/exercises/192"' in html("```{exercise} 192\nx\n```")
    shown = html("```{exercise} 192\nx\n```", "en")
    assert '<section class="ex-inline" id="ex-192" data-exercise="192" data-lang="en"' in shown
    assert 'href="/en/exercises/192"' in shown
    assert "NotImplementedError" in shown  # what there is to write, for who has no scripts
    assert "python practice/judge.py 192" in shown
    assert "CacheManager.cache_req" in shown


def test_output_can_be_folded_and_keeps_every_line() -> None:
    stored = (ROOT / "chapters/outputs/ch08.txt").read_text()
    shown = html("```{output} ch08\n:fold: see\n```")
    assert shown.strip().startswith('<details class="fold reveal">')
    assert all(line in shown for line in stored.splitlines())


def test_animation_carries_its_text_and_its_trace() -> None:
    shown = html("```{animation} kv_pool\nCaption\n```", "en")
    source = "../../assets/animations/traces/kv_pool.jsonl"
    assert f'<minisgl-animation name="kv_pool" lang="en" src="{source}">' in shown
    assert "KV pool" in shown
    assert "Figure 8-1" in shown


def test_figures_are_drawn_in_the_language_of_the_page() -> None:
    zh, en = (html("```{figure} 08_owners\nx\n```", lang) for lang in ("zh", "en"))
    assert "空闲" in zh
    assert "空闲" not in en
    assert 'role="img"' in zh
    assert "<desc" in en
    assert "图 8-1" in zh
    assert "Figure 8-1" in en


def test_containers_hold_markdown_and_other_directives() -> None:
    shown = html(":::{selftest} 为什么 `x`？\n因为 **y**。\n\n```{output} ch08\n```\n:::")
    assert "<code>x</code>" in shown
    assert "\n\n因为 **y**。" in shown  # left for mdBook
    assert 'class="output"' in shown


def test_admonitions_have_a_title_in_the_language_of_the_page() -> None:
    assert '<p class="n-head">当心</p>' in html(":::{warning}\n行是视图。\n:::")
    assert '<p class="n-head">Mind</p>' in html(":::{warning} Mind\nIt is a view.\n:::", "en")


def test_tree_marks_what_is_new_and_what_changed() -> None:
    source = (ROOT / "chapters/zh/08_cache_manager.md").read_text()
    shown = html(source[source.index("```{tree}") : source.index("(regions)=")])
    step = Steps().steps[8]
    assert shown.count('class="f new ') == len(step.new)
    assert shown.count('class="f changed ') == len(step.modified)
    assert "第 1 章" in shown


def test_code_cells_for_the_notebook_alone_are_not_on_the_page() -> None:
    assert html("```{code-cell} python\n:tags: [remove-cell]\nx = 1\n```").strip() == ""
    assert "show" not in html("```{code-cell} python\nx = 1\n```")


def test_symbols_of_every_kind_are_found(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    method = '@property\n    def p(self):\n        """D."""\n        return 1\n'
    path.write_text(f"X = 1\n\n\nclass C:\n    y: int = 2\n\n    {method}")
    assert find_symbol(path, "X").code == "X = 1\n"
    assert find_symbol(path, "C.y").code == "y: int = 2\n"
    assert find_symbol(path, "C.p").code == '@property\ndef p(self):\n    """D."""\n    return 1\n'
    bare = find_symbol(path, "C.p", docstring=False)
    assert (bare.code, bare.first, bare.last) == ("@property\ndef p(self):\n    return 1\n", 7, 10)
