"""What inference needs of a layer: named weights, and a way to load them; no gradients, hooks or modes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeAlias, TypeVar

import torch

StateDict: TypeAlias = dict[str, torch.Tensor]


def concat_prefix(prefix: str, name: str) -> str:
    """Name of `name` below `prefix`, as checkpoints write it."""
    return f"{prefix}.{name}" if prefix else name


class BaseOP:
    """A layer. Its tensors are weights and its BaseOPs are children, except names that begin with `_`.

    Subclasses define `forward`. Weights are made on the `meta` device, where they have a shape and no memory,
    and come to life when they are loaded.
    """

    def state_dict(self, *, prefix: str = "", result: StateDict | None = None) -> StateDict:
        """All weights by name. They are added to `result` if one is given."""
        result = {} if result is None else result
        for name, value in vars(self).items():
            if name.startswith("_"):
                continue
            if isinstance(value, torch.Tensor):
                result[concat_prefix(prefix, name)] = value
            elif isinstance(value, BaseOP):
                value.state_dict(prefix=concat_prefix(prefix, name), result=result)
        return result

    def load_state_dict(self, state_dict: StateDict, *, prefix: str = "", _internal: bool = False) -> None:
        """Replace every weight by the tensor of its name, which is taken out of `state_dict`.

        Raises:
            KeyError: a name is missing.
            ValueError: a tensor has another shape or dtype than the weight; the message names it.
            RuntimeError: tensors are left over (outermost call only); the message names them.
        """
        for name, value in vars(self).items():
            if name.startswith("_"):
                continue
            key = concat_prefix(prefix, name)
            if isinstance(value, torch.Tensor):
                new = state_dict.pop(key)
                if new.shape != value.shape or new.dtype != value.dtype:
                    raise ValueError(
                        f"{key}: expected {value.dtype} of shape {tuple(value.shape)}, "
                        f"got {new.dtype} of shape {tuple(new.shape)}"
                    )
                setattr(self, name, new)
            elif isinstance(value, BaseOP):
                value.load_state_dict(state_dict, prefix=key, _internal=True)
        if not _internal and state_dict:
            raise RuntimeError(f"weights that the model does not have: {', '.join(state_dict)}")


class StateLessOP(BaseOP):
    """A layer without weights: tensors that it keeps are not in checkpoints."""

    def state_dict(self, *, prefix: str = "", result: StateDict | None = None) -> StateDict:
        return {} if result is None else result

    def load_state_dict(self, state_dict: StateDict, *, prefix: str = "", _internal: bool = False) -> None:
        if not _internal and state_dict:
            raise RuntimeError(f"weights that the model does not have: {', '.join(state_dict)}")


T = TypeVar("T", bound=BaseOP)


class OPList(BaseOP, Generic[T]):
    """Children named 0, 1, 2, ... as checkpoints number layers."""

    def __init__(self, ops: Sequence[T]) -> None:
        self._ops = list(ops)
        for index, op in enumerate(ops):
            setattr(self, str(index), op)

    @property
    def op_list(self) -> list[T]:
        return self._ops

    def __iter__(self) -> Iterator[T]:
        return iter(self._ops)

    def __len__(self) -> int:
        return len(self._ops)
