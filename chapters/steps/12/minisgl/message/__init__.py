"""What the parts of the engine tell each other."""

from .backend import AbortBackendMsg, BaseBackendMsg, UserMsg
from .frontend import BaseFrontendMsg, BatchFrontendMsg, TokenizedReply, UserReply
from .tokenizer import AbortMsg, BaseTokenizerMsg, BatchTokenizerMsg, DetokenizeMsg, TokenizeMsg

__all__ = [
    "AbortBackendMsg",
    "AbortMsg",
    "BaseBackendMsg",
    "BaseFrontendMsg",
    "BaseTokenizerMsg",
    "BatchFrontendMsg",
    "BatchTokenizerMsg",
    "DetokenizeMsg",
    "TokenizeMsg",
    "TokenizedReply",
    "UserMsg",
    "UserReply",
]
