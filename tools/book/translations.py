"""Which English pages have been compared with which Chinese text: `chapters/translations.json`.

    python -m tools.book.translations                   # list pages whose Chinese has changed since
    python -m tools.book.translations 08_cache_manager  # both say the same now: take it down

Chinese is the original. A page that was compared, and whose Chinese has changed since, says so in English.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

from tools.book.site import ROOT

FILE = Path("chapters") / "translations.json"


def fingerprint(root: Path, name: str) -> str:
    """One short string for the Chinese text of a page."""
    text = (root / "chapters" / "zh" / f"{name}.md").read_text(encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compared(root: Path) -> dict[str, str]:
    """Page to the fingerprint of the Chinese with which its English was compared."""
    path = root / FILE
    if not path.is_file():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    return {str(name): str(mark) for name, mark in found.items()}


def is_stale(root: Path, name: str) -> bool:
    """Whether the English is older than the Chinese; False for a page that was never compared."""
    mark = compared(root).get(name)
    return mark is not None and mark != fingerprint(root, name)


def main() -> int:
    """List what is stale, status 1 if anything is; or take down that pages were compared."""
    parser = argparse.ArgumentParser(prog="python -m tools.book.translations", description=__doc__)
    parser.add_argument("pages", nargs="*", help="names without .md whose two languages say the same now")
    names = [name.removesuffix(".md") for name in parser.parse_args().pages]
    for name in names:
        for lang in ("zh", "en"):
            if not (ROOT / "chapters" / lang / f"{name}.md").is_file():
                print(f"no page chapters/{lang}/{name}.md", file=sys.stderr)
                return 2
    marks = compared(ROOT) | {name: fingerprint(ROOT, name) for name in names}
    if names:
        (ROOT / FILE).write_text(json.dumps(dict(sorted(marks.items())), indent=2) + "\n", encoding="utf-8")
    stale = [name for name in sorted(marks) if is_stale(ROOT, name)]
    for name in stale:
        print(f"chapters/en/{name}.md is older than chapters/zh/{name}.md")
    return 1 if stale and not names else 0


if __name__ == "__main__":
    sys.exit(main())
