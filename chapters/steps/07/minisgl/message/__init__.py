"""What the parts of the engine tell each other."""

from .backend import AbortBackendMsg, BaseBackendMsg, UserMsg
from .tokenizer import DetokenizeMsg

__all__ = ["AbortBackendMsg", "BaseBackendMsg", "DetokenizeMsg", "UserMsg"]
