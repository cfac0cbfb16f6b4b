import torch


def forward(
    self, x: torch.Tensor, residual: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Take the last sublayer's output x and the residual stream, both [N, hidden_size].

    Returns:
        This layer's last output, not yet added, and the residual stream: the next norm adds them.
    """
    x, residual = self.input_layernorm.forward(x, residual)
    x = self.self_attn.forward(x)
    x, _ = self.post_attention_layernorm.forward(x, residual)
    x = self.mlp.forward(x)
    return x, residual
