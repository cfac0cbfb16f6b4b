"""Settings from the environment."""

from __future__ import annotations

import pytest

from minisgl.env import ENV, EnvVar, parse_bool, parse_kernels


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("TRUE", True), ("on", True), ("0", False), ("no", False)]
)
def test_booleans(monkeypatch: pytest.MonkeyPatch, text: str, value: bool) -> None:
    monkeypatch.setenv("MINISGL_SWITCH", text)
    assert EnvVar("SWITCH", not value, parse_bool).value is value


def test_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINISGL_SWITCH", raising=False)
    assert EnvVar("SWITCH", True, parse_bool).value is True


def test_nonsense_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINISGL_SWITCH", "perhaps")
    with pytest.raises(ValueError, match="MINISGL_SWITCH='perhaps'"):
        EnvVar("SWITCH", True, parse_bool)


def test_overlap_switch_exists() -> None:
    assert ENV.DISABLE_OVERLAP_SCHEDULING.name == "MINISGL_DISABLE_OVERLAP_SCHEDULING"
    assert isinstance(ENV.DISABLE_OVERLAP_SCHEDULING.value, bool)


def test_kernels_are_automatic_or_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ENV.KERNELS.name == "MINISGL_KERNELS"
    monkeypatch.setenv("MINISGL_SWITCH", "torch")
    assert EnvVar("SWITCH", "auto", parse_kernels).value == "torch"
    monkeypatch.setenv("MINISGL_SWITCH", "cuda")
    with pytest.raises(ValueError, match="expected auto or torch"):
        EnvVar("SWITCH", "auto", parse_kernels)
