"""Who computes what in the next step."""

from .config import SchedulerConfig
from .decode import DecodeManager
from .prefill import PrefillManager
from .scheduler import ForwardInput, Scheduler
from .table import TableManager
from .utils import PendingReq

__all__ = [
    "DecodeManager",
    "ForwardInput",
    "PendingReq",
    "PrefillManager",
    "Scheduler",
    "SchedulerConfig",
    "TableManager",
]
