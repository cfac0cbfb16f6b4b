"""Write the model card from what training and evaluation measured.

    python -m tools.train_tiny.card evaluation.json report.json... > minisgl/assets/minisgl-tiny/README.md

``evaluation.json`` is written by evaluate.py, a ``report.json`` by each run of train.py, in the order of the runs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

_HEAD = """\
# minisgl-tiny

A bilingual language model of 7,541,376 parameters for the course: small enough for a browser tab, and good enough
that one can read what it writes. It knows a small world: short stories, the course's own terms, everyday questions,
capitals, small sums, primes, and simple Python, in English and in Chinese.

| | |
| --- | --- |
| architecture | Qwen3 (`Qwen3ForCausalLM`): 7 layers, hidden size 256, 6 query heads and 2 KV heads of 64, feed-forward 768, tied embeddings |
| vocabulary | 6144 byte-level BPE tokens, among them `<|endoftext|>`, `<|im_start|>`, `<|im_end|>` |
| context | 2048 tokens, RoPE base 10,000 |
| weights | bfloat16, 15.1 MB |
| form of a chat | ChatML without a thinking part (`tokenizer_config.json`) |
| equality | logits equal those of transformers' `Qwen3ForCausalLM` in float32 up to {difference:.1e} of the largest logit |

## Data and licences

| source | part of the tokens | licence |
| --- | --- | --- |
| text written by the programs in `tools/train_tiny/`: stories, everyday texts, chats, glossary, capitals, sums, code | about 92 % | this repository's |
| WordNet 3.0's definitions (Debian `wordnet-base`), seen about 13 times | 4.5 % | WordNet licence |
| Python 3.11's documentation (Debian `python3.11-doc`), seen about 10 times | 1 % | PSF licence |
| classical Chinese poems (npm `chinese-poetry` 2.0.1), seen about 12 times | 2 % | MIT |

The licences are in `THIRD_PARTY.md`. The weights themselves are under this repository's licence.

## Training

On one NVIDIA H200 with Muon for the layers' matrices and AdamW for the rest, batches of 131,072 tokens, rows of 512
and 2048 tokens; the learning rate warms up, stays and falls linearly to nothing. The second run went on from the
first one's weights, with 0.4 of its learning rates and a mixture to which everyday sentences, Python programs, more
terms and more ways to ask had been added. `tools/train_tiny/README.md` says how to repeat it.
"""

_TAIL = """
## What it cannot do

- It knows nothing beyond its small world. Asked about something else it says so, or it writes nonsense.
- It does not reason. Sums of numbers with more than two digits, several steps, or new rules are beyond it; what it
  says about the course's terms are sentences that it has learned.
- Its stories follow two dozen plots, and greedy decoding picks the same few of them. In the freer little tales,
  people and things may not fit together.
- Of Python it knows the functions and programs of its training text, and variations at best.
- Beyond what it has learned, it may be wrong in fluent sentences. It is for watching an engine at work, not for advice.
- Its poems and dictionary definitions sound right and mostly are not.
"""


def runs(reports: list[dict[str, Any]]) -> str:
    """A table of steps, tokens and time, and one of the losses by source."""
    lines = ["| run | steps | tokens | seconds |", "| --- | --- | --- | --- |"]
    for i, report in enumerate(reports, 1):
        lines.append(f"| {i} | {report['steps']:,} | {report['tokens']:,} | {report['seconds']:.0f} |")
    lines += ["", "Loss (nats a token) on held-out text:", ""]
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
    parts = [_HEAD.replace("{difference:.1e}", f"{evaluation['difference']:.1e}"), runs(reports)]
    parts.append(facts(evaluation["accuracies"]))
    for lang, title in (("en", "English"), ("zh", "Chinese")):
        chosen = [sample(one) for one in evaluation["samples"] if one["lang"] == lang]
        parts.append(f"\n## Twenty prompts in {title}\n\nGreedy, at most 160 tokens; nothing was selected.\n")
        parts.append("\n".join(chosen))
    return "\n".join(parts) + _TAIL


def main(evaluation: Path, reports: list[Path]) -> None:
    """Print the card."""
    read = [json.loads(path.read_text(encoding="utf-8")) for path in [evaluation, *reports]]
    print(card(read[0], read[1:]), end="")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
