"""One page that holds a whole book, to print or to read without a network."""

from __future__ import annotations

import re

from judge.i18n import t
from tools.book.summary import Entry

_OWN = re.compile(r'\b(id|for|aria-labelledby|aria-describedby|data-term)="([^"]*)"')
_LOCAL = re.compile(r'href="(?P<page>[\w-]+\.html)?(?:#(?P<id>[^"]*))?"')
_DRAWN = re.compile(r"url\(#([\w-]+)\)")
_ICON = "i-"


def whole_book(entries: list[Entry], pages: dict[str, str], lang: str) -> str:
    """All articles on one page: ids carry the page's name, links between pages become links within."""
    names = {entry.page: entry.page.removesuffix(".html") for entry in entries}
    articles = [_article(pages[entry.page], entry.page, names) for entry in entries]
    frame = pages[entries[0].page]
    title = t("book.print_title", lang, title=t("book.title", lang))
    frame = re.sub(r"<title>.*?</title>", f"<title>{title}</title>", frame, count=1, flags=re.S)
    head = frame[: frame.index('<div class="book">')].replace("<body>", '<body class="whole">')
    sheets = {link for html in pages.values() for link in re.findall(r'<link [^>]*katex\.css">', html)}
    head = head.replace("</head>", "".join(sorted(sheets)) + "</head>", 1)
    head = re.sub(r'href="(\.\./\w+/)[\w-]+\.html"', r'href="\1print.html"', head)
    return f"{head}{''.join(articles)}\n</main>\n</body>\n</html>\n"


def _article(html: str, page: str, names: dict[str, str]) -> str:
    text = html[html.index("<article") : html.index("</article>")] + "</article>"
    text = re.sub(r'<a class="term"[^>]*>(.*?)</a>', r"\1", text, flags=re.S)
    text = re.sub(r"<(ul class=\"mend\").*?</ul>", "", text, flags=re.S)
    text = text.replace(" data-pagefind-body", "")
    text = text.replace("<details", "<details open")
    name = names[page]

    def own(found: re.Match[str]) -> str:
        ids = " ".join(f"{name}--{each}" for each in found[2].split())
        return f'{found[1]}="{ids}"'

    def local(found: re.Match[str]) -> str:
        target = found["page"] or page
        if found["page"] is None and found["id"] is None:
            return found[0]
        if target not in names or (found["id"] or "").startswith(_ICON):
            return found[0]
        return f'href="#{names[target]}' + (f'--{found["id"]}"' if found["id"] else '"')

    text = _LOCAL.sub(local, _OWN.sub(own, text))
    text = _DRAWN.sub(lambda found: f"url(#{name}--{found[1]})", text)
    return text.replace("<article", f'<article id="{name}"', 1)
