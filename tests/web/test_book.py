"""The book in a real browser: it loads nothing from elsewhere, fits the screen, and its scripts work."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from book_site import make_site, serve
from playwright.sync_api import Browser, Page, expect

from tools.book.site import ROOT

CHAPTER = "08_cache_manager.html"
PAGES = ("index.html", CHAPTER, "glossary.html", "print.html")
WRITTEN = [path.with_suffix(".html").name for path in (ROOT / "chapters" / "zh").glob("[0-9][0-9]_*.md")]
# Made by other builders of the site; what the book does with them is tested with the whole site.
ELSEWHERE = ("/assets/app/", "/assets/animations/", "/assets/styles/inline.css")


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the book's folder."""
    with serve(make_site(tmp_path_factory.mktemp("book"))) as address:
        yield f"{address}/course/book"


class Reader:
    """A page, and what went wrong on it."""

    def __init__(self, browser: Browser, book: str, width: int = 1440, theme: str = "light") -> None:
        self.book = book
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,  # type: ignore[arg-type]
            reduced_motion="reduce",
            has_touch=width < 500,
        )
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.problems: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._said)
        self.page.on("request", self._asked)

    def _said(self, message: object) -> None:
        where = message.location["url"]  # type: ignore[attr-defined]
        if message.type in ("error", "warning") and not any(part in where for part in ELSEWHERE):  # type: ignore[attr-defined]
            self.problems.append(f"{message.text} ({where})")  # type: ignore[attr-defined]

    def _asked(self, request: object) -> None:
        if not request.url.startswith(self.book.rpartition("/book")[0]):  # type: ignore[attr-defined]
            self.problems.append(f"asked {request.url}")  # type: ignore[attr-defined]

    def open(self, lang: str, name: str = CHAPTER) -> Page:
        self.page.goto(f"{self.book}/{lang}/{name}")
        self.page.wait_for_load_state("networkidle")
        return self.page


@pytest.fixture
def readers(browser: Browser, book: str) -> Iterator[list[Reader]]:
    """Closes what the test opened, and fails where a page had a problem."""
    opened: list[Reader] = []
    yield opened
    problems = [problem for reader in opened for problem in reader.problems]
    for reader in opened:
        reader.context.close()
    assert problems == []


@pytest.fixture
def reader(browser: Browser, book: str, readers: list[Reader]) -> Reader:
    readers.append(Reader(browser, book))
    return readers[0]


@pytest.fixture
def phone(browser: Browser, book: str, readers: list[Reader]) -> Reader:
    readers.append(Reader(browser, book, width=390, theme="dark"))
    return readers[-1]


@pytest.mark.parametrize("width", [320, 360, 390, 780, 1024])
def test_no_page_is_wider_than_the_screen(
    browser: Browser, book: str, readers: list[Reader], width: int
) -> None:
    readers.append(Reader(browser, book, width))
    for lang in ("zh", "en"):
        for name in PAGES:
            page = readers[0].open(lang, name)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (lang, name)


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_axe_finds_nothing(
    browser: Browser, book: str, readers: list[Reader], lang: str, width: int, theme: str
) -> None:
    readers.append(Reader(browser, book, width, theme))
    for name in ("index.html", "glossary.html", *WRITTEN):
        page = readers[0].open(lang, name)
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        found = Axe().run(page)
        broken = [(each["id"], each["nodes"][0]["target"]) for each in found.response["violations"]]
        assert broken == [], name


@pytest.mark.parametrize(
    ("lang", "query", "page_name", "section", "words"),
    [
        ("zh", "准入", CHAPTER, "#admission", "准入"),
        ("zh", "页", CHAPTER, "#", "页"),
        ("zh", "许诺", CHAPTER, "#", "许诺"),
        ("en", "prefix cache", CHAPTER, "#", "prefix cache"),
        ("en", "allocate_paged", CHAPTER, "#", "allocate_paged"),
    ],
)
def test_search_finds_words_inside_sentences(
    reader: Reader, lang: str, query: str, page_name: str, section: str, words: str
) -> None:
    page = reader.open(lang)
    page.keyboard.press("/")
    field = page.locator("dialog.search input")
    field.fill(query)
    hits = page.locator(".s-list a")
    hits.first.wait_for()
    assert all(words in text.replace("\n", "") for text in hits.all_inner_texts()[:2])
    assert any(f"{page_name}{section}" in (hit.get_attribute("href") or "") for hit in hits.all())
    assert page.locator(".s-said").inner_text().split()[0] == str(hits.count())


def test_search_is_used_with_the_keyboard_and_loads_nothing_before(reader: Reader) -> None:
    asked: list[str] = []
    reader.page.on("request", lambda request: asked.append(request.url))
    page = reader.open("zh", "index.html")
    assert not any("pagefind" in url for url in asked)
    page.keyboard.press("Control+k")
    page.keyboard.type("准入")
    page.locator(".s-list a").first.wait_for()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.matches('.s-list li:first-child a')")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.matches('.search input')")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/zh/{CHAPTER}**")


def test_search_says_that_it_found_nothing_and_closes(reader: Reader) -> None:
    page = reader.open("en")
    page.locator(".find").click()
    page.keyboard.type("zzzzqqq")
    page.get_by_text("Nothing found.").wait_for()
    page.keyboard.press("Escape")
    expect(page.locator("dialog.search[open]")).to_have_count(0)


def test_print_page_and_glossary_page_do_not_double_the_results(reader: Reader) -> None:
    page = reader.open("zh")
    page.keyboard.press("/")
    page.keyboard.type("准入")
    page.locator(".s-list a").first.wait_for()
    hits = page.locator(".s-list a").all()
    assert not any("print.html" in (hit.get_attribute("href") or "") for hit in hits)


def test_a_prediction_is_compared_and_opens_the_output(reader: Reader) -> None:
    page = reader.open("zh")
    form = page.locator("form.predict").last
    output = page.locator("details.reveal").last
    expect(output).not_to_have_attribute("open", "")
    form.locator("input").fill("32")
    form.locator("button").click()
    expect(form.locator(".p-said")).to_have_text(
        "你写的是 32，实际是 35。差在哪里？看下面的输出。", use_inner_text=True
    )
    expect(output).to_have_attribute("open", "")
    form.locator("input").fill("３５")
    form.locator("input").press("Enter")
    expect(form.locator(".p-said")).to_have_text("如你所料：35。", use_inner_text=True)


def test_the_theme_is_kept_and_colours_the_figures(reader: Reader) -> None:
    page = reader.open("en")
    fill = "getComputedStyle(document.querySelector('#fig-08_owners rect.r0')).fill"
    light = page.evaluate(fill)
    page.locator(".top-end > .theme button[data-set=dark]").click()
    dark = page.evaluate(fill)
    assert (light, dark) == ("rgb(118, 154, 226)", "rgb(19, 66, 125)")
    page.reload()
    assert page.evaluate(fill) == dark


def test_the_language_switch_keeps_the_section_that_is_being_read(reader: Reader) -> None:
    page = reader.open("zh")
    page.evaluate("document.getElementById('admission').scrollIntoView()")
    page.locator(".langs a[lang=en]").evaluate("link => link.click()")  # without scrolling there first
    page.wait_for_url(f"**/en/{CHAPTER}#admission")
    expect(page.locator("#admission")).to_have_text(re.compile("^Admission"), use_inner_text=True)


def test_answers_unfold_and_what_was_known_is_kept(phone: Reader) -> None:
    page = phone.open("zh")
    ask = page.locator("details.ask").first
    ask.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(ask.locator("p").first).to_be_visible()
    ask.get_by_role("button", name="还没有").click()
    page.reload()
    expect(page.locator("details.ask").first.locator(".k-said")).to_have_text("再看", use_inner_text=True)


def test_sections_that_were_read_are_marked(reader: Reader) -> None:
    page = reader.open("en")
    for section in ("before", "asks", "idea"):
        page.evaluate(f"document.getElementById('{section}').scrollIntoView()")
        page.locator(f'.rail a[href="#{section}"][aria-current]').wait_for()
    expect(page.locator(".rail .read")).to_have_count(2)
    expect(page.locator(".rail-n")).to_contain_text("2 of ", use_inner_text=True)


def test_on_paper_the_text_stands_alone_and_open(reader: Reader) -> None:
    page = reader.open("zh")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for hidden in (".top", ".side", ".rail", ".pager", ".mend"):
        expect(page.locator(hidden).first, hidden).to_be_hidden()
    expect(page.locator("details.ask").first.locator("p").first).to_be_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator("article details[open]")).to_have_count(0)


def test_the_whole_book_is_one_page(reader: Reader) -> None:
    page = reader.open("en", "print.html")
    pages = list((ROOT / "chapters" / "en").glob("*.md"))
    expect(page.locator("article"), "one for each page, but none for SUMMARY.md").to_have_count(
        len(pages) - 1
    )
    link = page.locator('a[href="#08_cache_manager"]').first
    link.click()
    expect(page.locator('[id="08_cache_manager"]')).to_have_count(1)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))


def test_without_scripts_everything_can_be_read(browser: Browser, book: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{book}/zh/{CHAPTER}")
    expect(page.locator(".find")).to_be_hidden()
    ask = page.locator("details.ask").first
    ask.locator("summary").click()
    expect(ask.locator("p").first).to_be_visible()
    exercise = page.locator("section.ex-inline").first
    expect(exercise).to_have_attribute("data-exercise", "192")
    expect(exercise.locator("a.btn")).to_have_attribute("href", "../../zh/exercises/192/")
    context.close()


def test_the_folders_own_page_leads_into_the_book(browser: Browser, book: str) -> None:
    context = browser.new_context(locale="en-GB")
    page = context.new_page()
    page.goto(f"{book}/index.html")
    page.wait_for_url("**/book/en/index.html")
    context.close()


def test_a_term_is_explained_where_it_stands(reader: Reader) -> None:
    page = reader.open("en")
    term = page.locator("#idea ~ p a.term").first
    tip = page.locator(f'[id="{term.get_attribute("aria-describedby")}"]')
    expect(tip).to_be_hidden()
    term.focus()
    expect(tip).to_be_visible()
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    term.hover()
    tip.wait_for()
    tip.hover()  # what it says can be pointed at
    page.wait_for_timeout(400)
    expect(tip).to_be_visible()
    page.mouse.move(5, 5)
    tip.wait_for(state="hidden")
    expect(page.locator("h2 a.term, code a.term, summary a.term")).to_have_count(0)


def test_a_touch_explains_and_a_second_one_leads_to_the_glossary(phone: Reader) -> None:
    page = phone.open("zh")
    term = page.locator("#before ~ ul a.term").first
    key = term.get_attribute("data-term")
    term.tap()
    tip = page.locator(f'[id="term-{key}"]')
    tip.wait_for()
    box = tip.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    term.tap()
    page.wait_for_url(f"**/zh/glossary.html#{key}")


def test_standing_comes_from_what_the_site_keeps(reader: Reader) -> None:
    page = reader.open("zh", "index.html")
    page.evaluate(
        """() => new Promise((done, failed) => {
            const asked = indexedDB.open('minisgl', 1);
            asked.onupgradeneeded = () => {
                const table = asked.result.createObjectStore('progress', { keyPath: 'key' });
                table.put({ key: '192', exercise: 192, state: 'accepted', at: 1 });
                table.put({ key: '193', exercise: 193, state: 'tried', at: 1 });
            };
            asked.onsuccess = () => { asked.result.close(); done(); };
            asked.onerror = failed;
        })"""
    )
    page = reader.open("zh")
    page.locator(".here .pips[aria-label='4 题中 1 题通过']").wait_for()
    expect(page.locator(".four .slot.accepted .state")).to_have_text("已通过", use_inner_text=True)
    expect(page.locator(".map .ex .state")).to_have_text(["已通过", "试过", "", ""], use_inner_text=True)
    expect(page.locator(".count .passed")).to_have_text("1", use_inner_text=True)
