"""The base of all modules."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core import Tensor
from .._dtype import device, dtype

_new = object.__new__
_Keys = namedtuple("IncompatibleKeys", "missing_keys unexpected_keys")


class Parameter(Tensor):
    """A tensor that a module lists among its parameters."""

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        parameter = _new(cls)
        if data is None:
            parameter._a = np.empty(0, np.float32)
        else:
            parameter._a = data._a
        parameter.requires_grad = requires_grad
        return parameter


class Buffer(Tensor):
    """A tensor that belongs to a module's state and is no parameter."""

    def __new__(cls, data: Tensor, *, persistent: bool = True) -> Buffer:
        buffer = _new(cls)
        buffer._a = data._a
        buffer.persistent = persistent
        return buffer


class Module:
    """Holds parameters, buffers and other modules, by the names of its attributes."""

    training: bool

    def __init__(self) -> None:
        object.__setattr__(self, "training", True)
        for name in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, name, OrderedDict())
        object.__setattr__(self, "_not_saved", set())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        held = self.__dict__
        if isinstance(value, Parameter | Module | Buffer):
            if "_parameters" not in held:
                what = "module" if isinstance(value, Module) else "parameters"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for kind in ("_parameters", "_buffers", "_modules"):
                held[kind].pop(name, None)
            held.pop(name, None)
            if isinstance(value, Buffer):
                self.register_buffer(name, value, value.persistent)
            else:
                held["_parameters" if isinstance(value, Parameter) else "_modules"][name] = value
        elif name in held.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as parameter '{name}' (torch.nn.Parameter or"
                    " None expected)"
                )
            held["_parameters"][name] = None
        elif name in held.get("_buffers", ()):
            held["_buffers"][name] = value
        elif name in held.get("_modules", ()) and value is None:
            held["_modules"][name] = None
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for kind in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(kind, {})
            if name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[kind]:
                del self.__dict__[kind][name]
                return
        object.__delattr__(self, name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        self._buffers[name] = tensor
        if not persistent:
            self._not_saved.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        self._modules[name] = module

    add_module = register_module

    def children(self) -> Iterator[Module]:
        yield from (child for _, child in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        for name, child in self._modules.items():
            if child is not None:
                yield name, child

    def modules(self) -> Iterator[Module]:
        yield from (module for _, module in self.named_modules())

    def named_modules(self, memo: set[int] | None = None, prefix: str = "") -> Iterator[tuple[str, Module]]:
        seen = set() if memo is None else memo
        if id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, child in self.named_children():
            yield from child.named_modules(seen, f"{prefix}.{name}" if prefix else name)

    def _named(self, kind: str, prefix: str, recurse: bool, saved: bool = False) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for where, module in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
            for name, value in module.__dict__[kind].items():
                if (
                    value is None
                    or (not saved and id(value) in seen)
                    or (saved and name in module._not_saved)
                ):
                    continue
                seen.add(id(value))
                yield (f"{where}.{name}" if where else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (value for _, value in self.named_buffers(recurse=recurse))

    def state_dict(self, *, prefix: str = "") -> OrderedDict[str, Tensor]:
        state: OrderedDict[str, Tensor] = OrderedDict()
        for name, value in self._parameters.items():
            if value is not None:
                state[prefix + name] = value.detach()
        for name, value in self._buffers.items():
            if value is not None and name not in self._not_saved:
                state[prefix + name] = value.detach()
        for name, child in self.named_children():
            state.update(child.state_dict(prefix=f"{prefix}{name}."))
        return state

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        own = self.state_dict()
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        errors: list[str] = []
        if strict and unexpected:
            errors.append(
                f"Unexpected key(s) in state_dict: {', '.join(map(repr, unexpected))}. ".replace("'", '"')
            )
        if strict and missing:
            errors.append(
                f"Missing key(s) in state_dict: {', '.join(map(repr, missing))}. ".replace("'", '"')
            )
        for name, tensor in own.items():
            new = state_dict.get(name)
            if new is None:
                continue
            if new._a.shape != tensor._a.shape:
                errors.append(
                    f"size mismatch for {name}: copying a param with shape {new.shape} from checkpoint, the"
                    f" shape in current model is {tensor.shape}."
                )
            elif assign:
                module, _, last = name.rpartition(".")
                self.get_submodule(module)._held(last)._a = new._a
            else:
                tensor._a[...] = new._a
        if errors:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors)
            )
        return _Keys(missing, unexpected)

    def _held(self, name: str) -> Any:
        return self._parameters[name] if name in self._parameters else self._buffers[name]

    def get_submodule(self, target: str) -> Module:
        module: Module = self
        for name in target.split(".") if target else []:
            module = getattr(module, name)
        return module

    def get_parameter(self, target: str) -> Parameter:
        module, _, name = target.rpartition(".")
        parameter: Parameter = self.get_submodule(module)._parameters[name]
        return parameter

    def apply(self, fn: Callable[[Module], None]) -> Module:
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _each(self, change: Callable[[Tensor], Tensor]) -> Module:
        for module in self.modules():
            for kind in (module._parameters, module._buffers):
                for value in kind.values():
                    if value is not None:
                        value._a = change(value)._a
        return self

    def to(self, *args: Any, **kwargs: Any) -> Module:
        types = [x for x in (*args, *kwargs.values()) if isinstance(x, dtype)]
        places = [x for x in (*args, kwargs.get("device")) if isinstance(x, str | device)]

        def change(tensor: Tensor) -> Tensor:
            d = types[0] if types and tensor.dtype.is_floating_point else None
            result: Tensor = tensor.to(places[0] if places else None, d)
            return result

        return self._each(change)

    def float(self) -> Module:
        return self.to(Tensor((0.0,)).dtype)

    def double(self) -> Module:
        from .._dtype import float64

        return self.to(float64)

    def half(self) -> Module:
        from .._dtype import float16

        return self.to(float16)

    def cpu(self) -> Module:
        return self

    def type(self, dst_type: dtype) -> Module:
        return self.to(dst_type)

    def train(self, mode: bool = True) -> Module:
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self) -> Module:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._modules.items()]
        extra, head = self.extra_repr(), type(self).__name__
        if not lines:
            return f"{head}({extra})"
        first = [extra] if extra else []
        return f"{head}(\n  " + "\n  ".join(first + lines) + "\n)"
