"""What the parts of the engine tell each other."""

from .backend import AbortBackendMsg, BaseBackendMsg, BatchBackendMsg, ExitMsg, UserMsg
from .frontend import (
    BaseFrontendMsg,
    BatchFrontendMsg,
    DetokenizerStats,
    StatsReply,
    TokenizedReply,
    TokenLogprob,
    UserReply,
)
from .tokenizer import AbortMsg, BaseTokenizerMsg, BatchTokenizerMsg, DetokenizeMsg, TokenizeMsg

__all__ = [
    "AbortBackendMsg",
    "AbortMsg",
    "BaseBackendMsg",
    "BaseFrontendMsg",
    "BaseTokenizerMsg",
    "BatchBackendMsg",
    "BatchFrontendMsg",
    "BatchTokenizerMsg",
    "DetokenizeMsg",
    "DetokenizerStats",
    "ExitMsg",
    "StatsReply",
    "TokenLogprob",
    "TokenizeMsg",
    "TokenizedReply",
    "UserMsg",
    "UserReply",
]
