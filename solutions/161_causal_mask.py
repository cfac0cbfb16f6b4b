"""Reference for 161 `causal_mask`."""

import torch


def causal_mask(n_query: int, n_key: int) -> torch.Tensor:
    """Who may attend to whom, bool [n_query, n_key]: the queries are the last of the positions.

    Args:
        n_query: tokens that are computed now.
        n_key: all tokens so far, those of now among them.

    Raises:
        ValueError: there is no query, or there are fewer keys than queries.
    """
    # hint: 先检查两个数 | First check the two numbers
    if n_query < 1 or n_key < n_query:
        raise ValueError(f"{n_query} queries and {n_key} keys: expected 1 <= n_query <= n_key")
    # hint: 每一行的位置；键不在它之后就看得见 | The position of each row; it sees the keys not behind it
    positions = torch.arange(n_key - n_query, n_key)
    return torch.arange(n_key) <= positions[:, None]
