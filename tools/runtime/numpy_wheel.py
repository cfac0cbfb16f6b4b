"""numpy for Pyodide. It is on PyPI only inside another package, which is fetched once for it."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tools.cache import cache_folder

CARRIER = "open-webui==0.12.4"
CARRIER_MB = 102
WHEEL = "numpy-2.4.3-cp314-cp314-pyemscripten_2026_0_wasm32.whl"
SHA256 = "0cad9c1b91f0082e4f959bc0e0bf5835a2efbba6ab3b1e9d1fe6e7e564cca98e"
"""The same as in the lock file of the npm package pyodide@314.0.3."""

_UNNEEDED = re.compile(
    r"/tests/(?!_natype\.py)|/f2py/|/distutils/|/include/|/_pyinstaller/|/_examples/|/doc/"
    r"|\.(pyi|a|pxd|pc)$|py\.typed$|(_tests|_simd)\.cpython[^/]*\.so$"
)


class Unavailable(Exception):
    """The wheel is not there and cannot be fetched; the message says why and what to do."""


def numpy_wheel() -> Path:
    """The wheel, from the cache or fetched with pip, which follows PIP_* settings.

    Raises:
        Unavailable: it could not be fetched, or what came is something else.
    """
    path = cache_folder() / "pyodide" / WHEEL
    if path.is_file() and _sha256(path.read_bytes()) == SHA256:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    data = _fetched()
    if _sha256(data) != SHA256:
        raise Unavailable(f"{WHEEL} in {CARRIER} has the hash {_sha256(data)}, not {SHA256}: it is not used")
    fresh = path.with_suffix(".part")
    fresh.write_bytes(data)
    fresh.replace(path)
    return path


def unpack_slim(wheel: Path, folder: Path) -> None:
    """What a program in the tab can use of numpy: no tests, headers, stubs. Licences stay."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith("/") and not _UNNEEDED.search(name):
                archive.extract(name, folder)


def _fetched() -> bytes:
    print(f"runtime: fetching {CARRIER} with pip for its numpy, {CARRIER_MB} MB (once)", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--dest", folder]
        # pip's own progress bar shows on a terminal
        if subprocess.run([*command, "--disable-pip-version-check", CARRIER], check=False).returncode:
            raise Unavailable(
                f"pip could not fetch {CARRIER} (its message stands above). It follows your PIP_* settings; "
                f"or put the file {WHEEL} into {cache_folder() / 'pyodide'}"
            )
        (carrier,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(carrier) as archive:
            try:
                (name,) = (name for name in archive.namelist() if name.endswith(f"/{WHEEL}"))
            except ValueError:
                raise Unavailable(f"{CARRIER} does not hold {WHEEL}") from None
            return archive.read(name)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
