"""Boxes for learners' code: isolated where the host can, and named weak where it cannot."""

from judge.sandbox.box import Box, CaseAnswer, SampleAnswer
from judge.sandbox.bundle import Bundle, UnknownTarget, make_bundle
from judge.sandbox.client import Pool
from judge.sandbox.limits import ENGINE_LIMITS, HostError, Limits, Stopped, Usage
from judge.sandbox.protocol import Opaque, Parameter, Raised, TensorData

__all__ = [
    "ENGINE_LIMITS",
    "Box",
    "Bundle",
    "CaseAnswer",
    "HostError",
    "Limits",
    "Opaque",
    "Parameter",
    "Pool",
    "Raised",
    "SampleAnswer",
    "Stopped",
    "TensorData",
    "UnknownTarget",
    "Usage",
    "make_bundle",
]
