"""Where the files of a model are."""

from __future__ import annotations

import os
import re
from pathlib import Path

BUNDLED = "minisgl-tiny"
SMOLLM2 = "smollm2"

_ASSETS = Path(__file__).parent.parent / "assets"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def cache_folder() -> Path:
    """Where fetched and converted models are kept: `MINISGL_CACHE`, or a folder in the user's cache."""
    given = os.environ.get("MINISGL_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "minisgl"


def resolve_model(name: str | Path) -> Path:
    """Folder of a model: a name (`minisgl-tiny`, `smollm2`), a folder, or a hub id like `Qwen/Qwen3-0.6B`.

    Raises:
        FileNotFoundError: it is not there and cannot be fetched; the message says what to do.
    """
    if Path(name).is_dir():
        return Path(name)
    if name == BUNDLED:
        return _need(_ASSETS / BUNDLED, "the installation is incomplete: it comes with the package")
    if name == SMOLLM2:
        return _need(cache_folder() / SMOLLM2, "fetch it with `make model-smol`")
    if isinstance(name, str) and _HUB_ID.fullmatch(name):
        return _from_hub(name)
    raise FileNotFoundError(
        f"no model {str(name)!r}: expected {BUNDLED}, {SMOLLM2}, a folder with a config.json, or a hub id "
        "such as Qwen/Qwen3-0.6B"
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
        return Path(snapshot_download(hub_id, allow_patterns=["*.json", "*.safetensors", "*.txt", "*.jinja"]))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise FileNotFoundError(f"{hub_id} is no folder here, and could not be fetched: {error}") from error
