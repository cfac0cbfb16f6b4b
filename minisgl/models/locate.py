"""Where the files of a model are."""

from __future__ import annotations

import os
import re
from pathlib import Path

BUNDLED = "minisgl-tiny"
SMOLLM2 = "smollm2"

_ASSETS = Path(__file__).parent.parent / "assets"
_HUB_FILES = ["*.json", "*.safetensors", "*.txt", "*.jinja"]
_HUB_OTHERS = ["*/*", "consolidated*"]  # the same weights in another form
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def cache_folder() -> Path:
    """Where fetched and converted models are kept: `MINISGL_CACHE`, or a folder in the user's cache."""
    given = os.environ.get("MINISGL_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "minisgl"


def resolve_model(name: str | Path) -> Path:
    """Where a model is: a name (`minisgl-tiny`, `smollm2`), a folder, a GGUF file, or a hub id.

    What is returned is a folder, or a file that ends in `.gguf`.

    Raises:
        FileNotFoundError: it is not there and cannot be fetched; the message says what to do.
    """
    path = Path(name)
    if path.is_dir() or (path.suffix == ".gguf" and path.is_file()):
        return path
    if path.is_file():
        raise FileNotFoundError(f"{path} is a file: give the folder that it is in, or a .gguf file")
    if path.suffix == ".gguf":
        raise FileNotFoundError(f"there is no file {path}")
    if name == BUNDLED:
        return _need(_ASSETS / BUNDLED, "the installation is incomplete: it comes with the package")
    if name == SMOLLM2:
        return _need(cache_folder() / SMOLLM2, "fetch it with `make model-smol`")
    if isinstance(name, str) and _HUB_ID.fullmatch(name):
        return _from_hub(name)
    raise FileNotFoundError(
        f"no model {str(name)!r}: expected {BUNDLED}, {SMOLLM2}, a folder with a config.json, a .gguf "
        "file, or a hub id such as Qwen/Qwen3-0.6B"
    )


def _need(folder: Path, advice: str) -> Path:
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f"the model {folder.name} is not in {folder}: {advice}")
    return folder


def _from_hub(hub_id: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise FileNotFoundError(
            f"{hub_id} is no folder here, and fetching it needs the package huggingface_hub"
        ) from error
    try:
        return Path(snapshot_download(hub_id, allow_patterns=_HUB_FILES, ignore_patterns=_HUB_OTHERS))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise FileNotFoundError(f"{hub_id} is no folder here, and could not be fetched: {error}") from error
