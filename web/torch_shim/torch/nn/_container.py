"""Modules that hold modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ._module import Module, Parameter


class _Numbered(Module):
    """Children named 0, 1, 2, ..."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return (
                type(self)(*list(self)[index])
                if isinstance(self, Sequential)
                else type(self)(list(self)[index])
            )
        children = list(self._modules.values())
        if not -len(children) <= index < len(children):
            raise IndexError(f"index {index} is out of range")
        return children[index]

    def __setitem__(self, index: int, module: Module) -> None:
        self._modules[str(index % len(self._modules))] = module

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def append(self, module: Module) -> Any:
        self._modules[str(len(self._modules))] = module
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        for module in modules:
            self.append(module)
        return self


class ModuleList(_Numbered):
    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def __repr__(self) -> str:
        """Equal ones behind each other take one line."""
        runs: list[list[Any]] = []  # first, last, text
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for a, b, text in runs]
        if not lines:
            return f"{type(self).__name__}()"
        inner = "\n  ".join(line.replace("\n", "\n  ") for line in lines)
        return f"{type(self).__name__}(\n  {inner}\n)"


class Sequential(_Numbered):
    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input


class ModuleDict(Module):
    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Mapping[str, Module]) -> None:
        for name, module in modules.items():
            self[name] = module

    def __getitem__(self, name: str) -> Any:
        return self._modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self._modules[name] = module

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def keys(self) -> Any:
        return self._modules.keys()

    def values(self) -> Any:
        return self._modules.values()

    def items(self) -> Any:
        return self._modules.items()


class ParameterList(Module):
    def __init__(self, values: Iterable[Parameter] | None = None) -> None:
        super().__init__()
        for i, value in enumerate(values or ()):
            self._parameters[str(i)] = value

    def __getitem__(self, index: int) -> Any:
        return list(self._parameters.values())[index]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._parameters.values()))
