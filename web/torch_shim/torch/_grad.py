"""What gradients need, of which there are none here: the context managers do nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any

from ._core import function


class no_grad:
    """Also a decorator, as in torch."""

    def __init__(self, mode: Any = True) -> None:
        self._called = mode if callable(mode) else None

    def __new__(cls, mode: Any = True) -> Any:
        return cls()(mode) if callable(mode) else object.__new__(cls)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        return None

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(f, type):
            return f

        @wraps(f)
        def inside(*args: Any, **kwargs: Any) -> Any:
            return f(*args, **kwargs)

        # Nothing happens around the call: a step of the engine need not pay for a frame.
        return f if not hasattr(f, "__self__") else inside


class inference_mode(no_grad):
    pass


class set_grad_enabled(no_grad):
    pass


class enable_grad(no_grad):
    pass


@function
def is_grad_enabled() -> bool:
    return False


@function
def is_inference_mode_enabled() -> bool:
    return True
