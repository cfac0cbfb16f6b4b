"""What the tab does not have: an error that names it, says so in two languages, and points to the judge."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, NoReturn

_WORDS = {
    "zh": "浏览器里没有 `{op}`。提交给判题机可以用。",
    "en": "`{op}` is not available in the tab. The judge has it: submit there.",
}
_IMPORT_FROM = 0
try:
    import opcode

    _IMPORT_FROM = opcode.opmap["IMPORT_FROM"]
except (ImportError, KeyError):  # then a missing name in `from torch import ...` is an ordinary ImportError
    pass


class _Missing(NotImplementedError):
    """Attributes: `op`, the full name of what is not here; `zh` and `en`, the message in each language."""

    def __init__(self, op: str) -> None:
        self.op = op
        self.zh = _WORDS["zh"].format(op=op)
        self.en = _WORDS["en"].format(op=op)
        super().__init__(f"{self.en} / {self.zh}")


class NotInTabError(_Missing, AttributeError):
    """An operation of torch that the shim lacks. An AttributeError, too, so that `hasattr` says False."""


class NotInTabImportError(_Missing, ImportError):
    """The same for `from torch import ...`, which would replace an AttributeError by words of its own."""


def missing(op: str) -> NoReturn:
    """Raise the error for the operation of that full name."""
    raise NotInTabError(op)


def missing_attribute(module: str, name: str) -> NoReturn:
    """What a module's `__getattr__` does. Names of Python's own protocols are plainly not there."""
    if name.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    frame = sys._getframe(2)
    code = frame.f_code.co_code
    if 0 <= frame.f_lasti < len(code) and code[frame.f_lasti] == _IMPORT_FROM:
        raise NotInTabImportError(f"{module}.{name}")
    raise NotInTabError(f"{module}.{name}")


class AbsentModule(ModuleType):
    """A part of torch of which nothing is here: `torch.linalg` exists, `torch.linalg.svd` says what to do."""

    def __getattr__(self, name: str) -> Any:
        missing_attribute(self.__name__, name)
