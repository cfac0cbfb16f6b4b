"""What a scheduler takes in: requests that can run."""

from __future__ import annotations

from dataclasses import replace

import torch

from ..engine import Engine
from ..message import UserMsg
from .prefill import PrefillManager


class IntakeMixin:
    """Looks at a request before it is queued."""

    engine: Engine
    prefill_manager: PrefillManager

    def check_prompt(self, input_len: int) -> None:
        """ValueError when a prompt of this length could never run; the message names the limit."""
        pool = self.engine.num_pages * self.engine.page_size
        if input_len == 0:
            raise ValueError("the prompt is empty: there is no token to continue")
        if input_len + 1 > pool:
            raise ValueError(
                f"the prompt has {input_len} tokens; with one token of output that is more than the KV pool"
                f" holds: {self.engine.num_pages} pages of {self.engine.page_size} tokens"
            )
        if input_len + 1 > self.engine.max_seq_len:
            raise ValueError(
                f"the prompt has {input_len} tokens; with one token of output that is more than the"
                f" {self.engine.max_seq_len} that a sequence may have (max_seq_len)"
            )

    def _add_user_msg(self, msg: UserMsg) -> None:
        """Queue a request. ValueError when it cannot run."""
        ids, vocab_size = msg.input_ids, self.engine.model_config.vocab_size
        if ids.dim() != 1 or ids.dtype != torch.int32:
            raise ValueError(
                f"input_ids must be one row of int32, not {ids.dtype} of shape {list(ids.shape)}"
            )
        self.check_prompt(len(ids))
        if int(ids.min()) < 0 or int(ids.max()) >= vocab_size:  # would be read beyond the embedding
            raise ValueError(f"the prompt holds a token id outside of the vocabulary, 0 to {vocab_size - 1}")
        params = msg.sampling_params
        room = self.engine.max_seq_len - len(ids)
        if params.max_tokens > room:
            params = replace(params, max_tokens=room)
        self.prefill_manager.add_one_req(UserMsg(msg.uid, ids, params))
