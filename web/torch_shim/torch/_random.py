"""Random numbers: the Mersenne Twister as torch's CPU generator uses it, so that a seed gives the same ones.

`rand`, `randint`, `randperm` and `bernoulli` give torch's very numbers; `randn` differs in the last bits.
`multinomial` and what else is drawn is random, but not torch's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._absent import missing
from ._core import Tensor, function, method, op, wrap
from ._dtype import CPU, FLOAT32, FLOAT64, INT64, as_shape, default, device, dtype, is_meta, np_dtype


class Generator:
    """A stream of random numbers."""

    def __init__(self, device: Any = "cpu") -> None:
        self._seed = 67280421310721
        self._next_normal: float | None = None
        self._twister: np.random.RandomState | None = None

    @property
    def device(self) -> device:
        return CPU

    def manual_seed(self, seed: int) -> Generator:
        if not -(2**63) <= seed < 2**64:
            raise RuntimeError("Overflow when unpacking long long")
        self._seed = seed % 2**64
        self._next_normal = None
        self._twister = None
        return self

    def seed(self) -> int:
        self.manual_seed(int(np.random.SeedSequence().generate_state(1, np.uint64)[0]))
        return self._seed

    def initial_seed(self) -> int:
        return self._seed

    def get_state(self) -> Any:
        missing("torch.Generator.get_state")

    def set_state(self, state: Any) -> Any:
        missing("torch.Generator.set_state")

    def words(self, count: int) -> np.ndarray:
        """The next `count` numbers of 32 bits, uint32."""
        if self._twister is None:  # not before: in the tab numpy.random takes as long to load as all of torch
            self._twister = np.random.RandomState(self._seed & 0xFFFFFFFF)  # as torch, 32 bits of it
        return self._twister.randint(0, 2**32, count, np.uint32)

    def words64(self, count: int) -> np.ndarray:
        """The next `count` numbers of 64 bits, each of two of 32."""
        pairs = self.words(2 * count).astype(np.uint64).reshape(-1, 2)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    def uniform(self, count: int, d: np.dtype[Any] = FLOAT32) -> np.ndarray:
        """Numbers in [0, 1)."""
        if d is FLOAT64:
            return (self.words64(count) & np.uint64(2**53 - 1)).astype(FLOAT64) * 2.0**-53
        return (self.words(count) & np.uint32(2**24 - 1)).astype(FLOAT32) * np.float32(2.0**-24)

    def normal(self, count: int, d: np.dtype[Any] = FLOAT32) -> np.ndarray:
        """Normally distributed numbers, by Box and Muller: blocks of 16, or pairs where there are few."""
        if count >= 16:
            return self._normal_blocks(count, d)
        return np.array([self._one_normal() for _ in range(count)], FLOAT64).astype(d)

    def _normal_blocks(self, count: int, d: np.dtype[Any]) -> np.ndarray:
        data = self.uniform(count, d)
        whole = count // 16 * 16
        data[:whole] = _box_muller(data[:whole])
        if count % 16:  # the last 16 are drawn anew
            data[count - 16 :] = _box_muller(self.uniform(16, d))
        return data

    def _one_normal(self) -> float:
        if self._next_normal is not None:
            value, self._next_normal = self._next_normal, None
            return value
        u1, u2 = self.uniform(2, FLOAT64).tolist()
        radius, angle = math.sqrt(-2.0 * math.log1p(-u2)), 2.0 * math.pi * u1
        self._next_normal = radius * math.sin(angle)
        return radius * math.cos(angle)


def _box_muller(uniform: np.ndarray) -> np.ndarray:
    blocks = uniform.reshape(-1, 2, 8)
    one = uniform.dtype.type(1)
    radius = np.sqrt(uniform.dtype.type(-2) * np.log(one - blocks[:, 0]))
    angle = uniform.dtype.type(2 * math.pi) * blocks[:, 1]
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), 1).reshape(-1)


default_generator = Generator()


@function
def manual_seed(seed: int) -> Generator:
    return default_generator.manual_seed(int(seed))


@function
def seed() -> int:
    return default_generator.seed()


@function
def initial_seed() -> int:
    return default_generator.initial_seed()


def _settle(generator: Generator | None) -> Generator:
    return default_generator if generator is None else generator


def _float_type(d: dtype | None, name: str) -> np.dtype[Any]:
    to = default.np if d is None else np_dtype(d)
    if to.kind != "f":
        raise NotImplementedError(f'"{name}" not implemented for {d}')
    return to


def _drawn(f: Any, to: np.dtype[Any], shape: tuple[int, ...]) -> Tensor:
    exact = to if to is FLOAT64 else FLOAT32
    return wrap(f(math.prod(shape), exact).astype(to, copy=False).reshape(shape))


def _random_maker(name: str, how: str) -> None:
    def f(
        *size: Any, generator: Generator | None = None, dtype: dtype | None = None, device: Any = None,
        requires_grad: bool = False, out: Any = None, **named: Any,
    ) -> Tensor:  # fmt: skip
        size = (named["size"],) if "size" in named else size
        is_meta(device)
        return _drawn(getattr(_settle(generator), how), _float_type(dtype, name), as_shape(size))

    f.__name__ = f.__qualname__ = name
    function(f)

    def like(input: Tensor, *, dtype: dtype | None = None, device: Any = None, **rest: Any) -> Tensor:
        return f(input._a.shape, dtype=dtype or input.dtype, **rest)

    like.__name__ = like.__qualname__ = f"{name}_like"
    function(like)


_random_maker("rand", "uniform")
_random_maker("randn", "normal")


def _integers(generator: Generator, low: int, high: int, count: int) -> np.ndarray:
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    span = high - low
    if span < 2**28:
        return (generator.words(count) % np.uint32(span)).astype(INT64) + low
    return (generator.words64(count) % np.uint64(span)).astype(INT64) + low


@function
def randint(
    low: int, high: Any = None, size: Any = None, *, generator: Generator | None = None,
    dtype: dtype | None = None, device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    if size is None and not isinstance(high, int):
        low, high, size = 0, low, high
    shape = as_shape((size,))
    r = _integers(_settle(generator), low, high, math.prod(shape))
    return wrap(r.astype(INT64 if dtype is None else np_dtype(dtype)).reshape(shape))


@function
def randint_like(input: Tensor, low: int, high: Any = None, **rest: Any) -> Tensor:
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, input._a.shape, dtype=rest.pop("dtype", None) or input.dtype, **rest)


@function
def randperm(
    n: int, *, generator: Generator | None = None, dtype: dtype | None = None, device: Any = None, **rest: Any
) -> Tensor:
    order = list(range(n))
    for i, word in enumerate(_settle(generator).words(max(n - 1, 0)).tolist()):
        j = i + word % (n - i)
        order[i], order[j] = order[j], order[i]
    return wrap(np.array(order, INT64 if dtype is None else np_dtype(dtype)))


@function
def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, **rest: Any
) -> Tensor:
    if size is None:
        size = (mean if isinstance(mean, Tensor) else std)._a.shape
    drawn = _drawn(_settle(generator).normal, default.np, as_shape((size,)))
    result: Tensor = drawn * std + mean  # type: ignore[operator]
    return result


@op
def bernoulli(input: Tensor, p: Any = None, *, generator: Generator | None = None) -> Tensor:
    a = input._a
    limit = a if p is None else p
    drawn = _settle(generator).uniform(a.size, FLOAT32).reshape(a.shape)
    return wrap((drawn < limit).astype(a.dtype))


@op
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    a = input._a
    if a.dtype.kind != "f":
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype}")
    if a.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not (np.isfinite(a).all() and (a >= 0).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    rows = a.reshape(-1, a.shape[-1]).astype(FLOAT64)
    if (rows.sum(1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and num_samples > a.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    source = _settle(generator)
    if replacement:
        cumulative = rows.cumsum(1)
        drawn = source.uniform(len(rows) * num_samples, FLOAT64).reshape(len(rows), -1) * cumulative[:, -1:]
        picks = np.stack([c.searchsorted(u, "right") for c, u in zip(cumulative, drawn, strict=True)])
    else:  # the race of exponential clocks
        clock = -np.log1p(-source.uniform(rows.size, FLOAT64).reshape(rows.shape))
        with np.errstate(divide="ignore"):
            picks = np.argsort(clock / rows, 1, kind="stable")[:, :num_samples]
    return wrap(picks.astype(INT64).reshape(*a.shape[:-1], num_samples))


@method
def uniform_(
    self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **named: Any
) -> Tensor:
    low = named.get("from", from_)
    drawn = _drawn(_settle(generator).uniform, self._a.dtype, self._a.shape)._a
    self._a[...] = drawn.astype(FLOAT64) * (to - low) + low  # rounded once, as torch multiplies and adds
    return self


@method
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    drawn = _drawn(_settle(generator).normal, self._a.dtype, self._a.shape)._a
    self._a[...] = drawn * self._a.dtype.type(std) + self._a.dtype.type(mean)
    return self


@method
def random_(self: Tensor, low: int = 0, high: Any = None, *, generator: Any = None) -> Tensor:
    if high is None and low:
        low, high = 0, low
    if high is None:
        limit = {1: 2**7, 2: 2**15, 4: 2**31, 8: 2**63 - 1}[self._a.itemsize]
        high = limit if self._a.dtype.kind == "i" else 2**24
    self._a[...] = _integers(_settle(generator), low, high, self._a.size).reshape(self._a.shape)
    return self


@method
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    drawn = _settle(generator).uniform(self._a.size, FLOAT64).reshape(self._a.shape)
    self._a[...] = -np.log1p(-drawn) / lambd
    return self
