"""Modules from memory behave like modules from files."""

import inspect
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from judge.sandbox.importer import install

ROOT = Path(__file__).parents[3]
SOURCES = {
    "parcel": "from parcel.inner import thing\n",
    "parcel.inner": "def thing():\n    return __name__\n\ndef fail():\n    raise ValueError\n",
    "parcel.empty": "",
}


@pytest.fixture
def importer():
    importer = install(SOURCES, ["parcel", "parcel.empty"], "/somewhere")
    yield importer
    sys.meta_path.remove(importer)
    for name in SOURCES:
        sys.modules.pop(name, None)


def test_packages_and_modules_import(importer):
    import parcel
    import parcel.empty

    assert parcel.thing() == "parcel.inner"
    assert parcel.__file__ == "/somewhere/parcel/__init__.py"
    assert parcel.inner.__file__ == "/somewhere/parcel/inner.py"
    assert list(parcel.empty.__path__) == ["/somewhere/parcel/empty"]
    assert parcel.inner.__package__ == "parcel"


def test_sources_and_traces_are_readable(importer):
    from parcel import inner

    assert inspect.getsource(inner.thing) == "def thing():\n    return __name__\n"
    try:
        inner.fail()
    except ValueError:
        assert (
            'File "/somewhere/parcel/inner.py", line 5, in fail\n    raise ValueError'
            in traceback.format_exc()
        )


def test_what_is_not_there_stays_unknown(importer):
    with pytest.raises(ModuleNotFoundError):
        __import__("parcel.other")


def test_modules_can_be_added(importer):
    importer.add({"parcel.late": "x = 3"}, [])
    from parcel.late import x

    assert x == 3
    sys.modules.pop("parcel.late")


COLLAPSE = """
import os
from judge.sandbox.hugepages import collapse
block = [bytes([n % 256]) * 100 for n in range(400_000)]  # some 50 MB
count = collapse(os.open("/proc", os.O_PATH | os.O_DIRECTORY))
assert all(one == bytes([n % 256]) * 100 for n, one in enumerate(block))
print(count)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="huge pages are asked for on Linux alone")
def test_collapsing_memory_changes_nothing_in_it():
    done = subprocess.run([sys.executable, "-c", COLLAPSE], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 0  # 0 on a kernel before 6.1
