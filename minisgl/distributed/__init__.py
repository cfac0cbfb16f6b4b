"""Several processes, one GPU each, that compute one model together (tensor parallelism)."""

from .impl import DistributedCommunicator, PeerLostError
from .info import DistributedInfo, get_tp_info, set_tp_info

__all__ = [
    "DistributedCommunicator",
    "DistributedInfo",
    "PeerLostError",
    "get_tp_info",
    "set_tp_info",
]
