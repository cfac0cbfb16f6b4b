"""Write the model card from what training and evaluation measured.

    python -m tools.train_tiny.card evaluation.json report.json... > minisgl/assets/minisgl-tiny/README.md

``evaluation.json`` is written by evaluate.py, a ``report.json`` by each run of train.py; first run first.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .grammar import TEXT


def runs(reports: list[dict[str, Any]]) -> str:
    """A table of steps, tokens and time, and one of the losses by source."""
    lines = ["| run | steps | tokens | seconds |", "| --- | --- | --- | --- |"]
    for i, report in enumerate(reports, 1):
        lines.append(f"| {i} | {report['steps']:,} | {report['tokens']:,} | {report['seconds']:.0f} |")
    lines += ["", "Loss (nats a token) on held-out text of the run's own mixture:", ""]
    lines.append("| source |" + "".join(f" run {i} |" for i in range(1, len(reports) + 1)))
    lines.append("| --- |" + " --- |" * len(reports))
    for source in reports[-1]["losses"]:
        cells = (f"{r['losses'][source]:.3f}" if source in r["losses"] else "" for r in reports)
        lines.append(f"| {source} |" + "".join(f" {cell} |" for cell in cells))
    return "\n".join(lines)


def facts(accuracies: dict[str, str]) -> str:
    """A table of the facts that must be right."""
    lines = ["", "## Facts, by greedy decoding", "", "| question | right |", "| --- | --- |"]
    return "\n".join(lines + [f"| {name} | {value} |" for name, value in accuracies.items()])


def sample(one: dict[str, str]) -> str:
    """A prompt and its answer as a block."""
    mark = "" if one["kind"] == "text" else " (chat)"
    fence = "````" if "```" in one["answer"] else "```"
    between = "\n\n" if one["kind"] == "chat" else ""
    return f"**{one['prompt']}**{mark}\n\n{fence}text\n{one['prompt']}{between}{one['answer']}\n{fence}\n"


def card(evaluation: dict[str, Any], reports: list[dict[str, Any]]) -> str:
    """The whole page."""
    head = (TEXT / "card_head.md").read_text(encoding="utf-8")
    parts = [head.replace("DIFFERENCE", f"{evaluation['difference']:.1e}"), runs(reports)]
    parts.append(facts(evaluation["accuracies"]))
    for lang, title in (("en", "English"), ("zh", "Chinese")):
        chosen = [sample(one) for one in evaluation["samples"] if one["lang"] == lang]
        parts.append(f"\n## Twenty prompts in {title}\n\nGreedy, at most 160 tokens; nothing was selected.\n")
        parts.append("\n".join(chosen))
    return "\n".join(parts) + "\n" + (TEXT / "card_tail.md").read_text(encoding="utf-8")


def main(evaluation: Path, reports: list[Path]) -> None:
    """Print the card."""
    read = [json.loads(path.read_text(encoding="utf-8")) for path in [evaluation, *reports]]
    print(card(read[0], read[1:]), end="")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
