"""Who computes what in the next step."""

from ..core import ChunkedReq
from .cache import CacheManager
from .config import SchedulerConfig
from .decode import DecodeManager, retract_to_fit
from .prefill import PrefillAdder, PrefillManager, lpm_order
from .scheduler import ForwardData, ForwardInput, Scheduler, plan_mixed
from .table import TableManager
from .utils import PendingReq

__all__ = [
    "CacheManager",
    "ChunkedReq",
    "DecodeManager",
    "ForwardData",
    "ForwardInput",
    "PendingReq",
    "PrefillAdder",
    "PrefillManager",
    "Scheduler",
    "SchedulerConfig",
    "TableManager",
    "lpm_order",
    "plan_mixed",
    "retract_to_fit",
]
