"""Chapter 0: a whole engine in one file, which needs nothing but torch.

A random model in the shape of Qwen3, a KV cache that grows by concatenation, and a loop that writes 16
tokens, once with the cache and once without it.

    python examples/ch00_tiny_engine.py
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F

VOCAB, HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD_DIM, FFN = 512, 64, 2, 4, 2, 16, 128
EPS, ROPE_BASE = 1e-6, 10000.0
Weights = dict[str, torch.Tensor]


def random_weights(seed: int) -> Weights:
    """Float32 weights, named as in Hugging Face checkpoints."""
    q, kv = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (VOCAB, HIDDEN)}
    for i in range(LAYERS):
        attn, mlp, layer = f"model.layers.{i}.self_attn.", f"model.layers.{i}.mlp.", f"model.layers.{i}."
        shapes |= {attn + "q_proj.weight": (q, HIDDEN), attn + "k_proj.weight": (kv, HIDDEN)}
        shapes |= {attn + "v_proj.weight": (kv, HIDDEN), attn + "o_proj.weight": (HIDDEN, q)}
        shapes |= {attn + "q_norm.weight": (HEAD_DIM,), attn + "k_norm.weight": (HEAD_DIM,)}
        shapes |= {mlp + "gate_proj.weight": (FFN, HIDDEN), mlp + "up_proj.weight": (FFN, HIDDEN)}
        shapes |= {mlp + "down_proj.weight": (HIDDEN, FFN), layer + "input_layernorm.weight": (HIDDEN,)}
        shapes |= {layer + "post_attention_layernorm.weight": (HIDDEN,)}
    shapes["model.norm.weight"] = (HIDDEN,)
    generator = torch.Generator().manual_seed(seed)
    weights: Weights = {}
    for name, shape in shapes.items():
        if "norm" in name:
            weights[name] = torch.rand(shape, generator=generator) + 0.5
        else:
            weights[name] = torch.randn(shape, generator=generator) * (0.02 if "embed" in name else 1 / 8)
    return weights


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x [..., n] scaled to a root mean square of 1, times weight [n]."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * weight


def rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Turn heads [n, heads, head_dim] to their positions: dimension i goes with i + head_dim / 2."""
    frequencies = ROPE_BASE ** (-torch.arange(0, HEAD_DIM, 2) / HEAD_DIM)
    angles = positions[:, None, None] * frequencies
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x1 * angles.cos() - x2 * angles.sin(), x2 * angles.cos() + x1 * angles.sin()), dim=-1)


def causal_mask(n_query: int, n_key: int) -> torch.Tensor:
    """Who may attend to whom, bool [n_query, n_key]: the queries are the last of the positions.

    ValueError when there is no query, or there are fewer keys than queries.
    """
    if n_query < 1 or n_key < n_query:
        raise ValueError(f"{n_query} queries and {n_key} keys: expected 1 <= n_query <= n_key")
    positions = torch.arange(n_key - n_query, n_key)
    return torch.arange(n_key) <= positions[:, None]


class TinyEngine:
    """One model, one sequence, and the keys and values of what it has read."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.cache: list[tuple[torch.Tensor, torch.Tensor]] = []  # (keys, values) of each layer
        self.forwards = self.positions = 0

    def forward(self, ids: list[int], start: int) -> list[float]:
        """Run `ids` at positions start, start + 1, ...; logits of the last. At 0 a new sequence begins."""
        if start == 0:
            self.cache = [(torch.empty(0, KV_HEADS, HEAD_DIM),) * 2 for _ in range(LAYERS)]
        self.forwards, self.positions = self.forwards + 1, self.positions + len(ids)
        w, positions = self.weights, torch.arange(start, start + len(ids))
        x = w["model.embed_tokens.weight"][torch.tensor(ids)]
        for i in range(LAYERS):
            p = f"model.layers.{i}."
            x = x + self.attend(i, rms_norm(x, w[p + "input_layernorm.weight"]), positions)
            h = rms_norm(x, w[p + "post_attention_layernorm.weight"])
            gate, up = h @ w[p + "mlp.gate_proj.weight"].T, h @ w[p + "mlp.up_proj.weight"].T
            x = x + (F.silu(gate) * up) @ w[p + "mlp.down_proj.weight"].T
        logits = rms_norm(x[-1], w["model.norm.weight"]) @ w["model.embed_tokens.weight"].T
        return logits.tolist()

    def attend(self, i: int, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Attention of layer i: the new tokens x [n, hidden] look at everything read so far."""
        p, w, n = f"model.layers.{i}.self_attn.", self.weights, len(x)
        q = rms_norm((x @ w[p + "q_proj.weight"].T).view(n, HEADS, HEAD_DIM), w[p + "q_norm.weight"])
        k = rms_norm((x @ w[p + "k_proj.weight"].T).view(n, KV_HEADS, HEAD_DIM), w[p + "k_norm.weight"])
        v = (x @ w[p + "v_proj.weight"].T).view(n, KV_HEADS, HEAD_DIM)
        keys, values = self.cache[i]  # growing by concatenation copies the whole cache at every step
        keys, values = torch.cat((keys, rotate(k, positions))), torch.cat((values, v))
        self.cache[i] = keys, values
        shared = HEADS // KV_HEADS  # neighbouring query heads share one head of keys and values
        keys, values = keys.repeat_interleave(shared, dim=1), values.repeat_interleave(shared, dim=1)
        scores = torch.einsum("qhd,khd->hqk", rotate(q, positions), keys) * HEAD_DIM**-0.5
        scores = scores.masked_fill(~causal_mask(n, len(keys)), -torch.inf)
        out = torch.einsum("hqk,khd->qhd", scores.softmax(dim=-1), values)
        return out.reshape(n, HEADS * HEAD_DIM) @ w[p + "o_proj.weight"].T


def greedy_generate(
    forward: Callable[[list[int], int], list[float]], prompt: list[int], max_new: int, eos: int | None = None
) -> list[int]:
    """Up to max_new tokens, each the most likely one, without the eos that may end them.

    The prompt goes in at once, then one token a call; no forward runs whose logits nobody needs. Ties go to
    the lowest id. ValueError when the prompt is empty.
    """
    if not prompt:
        raise ValueError("the prompt is empty: there is nothing to continue")
    new: list[int] = []
    ids, start = prompt, 0
    while len(new) < max_new:
        logits = forward(ids, start)
        token = logits.index(max(logits))
        if token == eos:
            break
        new.append(token)
        ids, start = [token], start + len(ids)
    return new


def without_cache(engine: TinyEngine, prompt: list[int], max_new: int) -> list[int]:
    """The same tokens the expensive way: everything is read again for each of them."""
    ids = list(prompt)
    for _ in range(max_new):
        logits = engine.forward(ids, 0)
        ids.append(logits.index(max(logits)))
    return ids[len(prompt) :]


def by_transformers(weights: Weights, prompt: list[int], max_new: int) -> list[int]:
    """What Hugging Face's model generates with these weights."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=VOCAB, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS, head_dim=HEAD_DIM, intermediate_size=FFN, rms_norm_eps=EPS,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_BASE}, tie_word_embeddings=True,
    )  # fmt: skip
    model = Qwen3ForCausalLM(config).eval()
    model.load_state_dict(weights, strict=False)  # the head is the embedding
    out = model.generate(
        torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), max_new_tokens=max_new,
        do_sample=False, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    return out[0, len(prompt) :].tolist()


def main() -> None:
    weights, prompt, max_new = random_weights(seed=0), [(11 * j + 3) % VOCAB for j in range(5)], 16
    print("parameters", sum(weight.numel() for weight in weights.values()))
    cached, plain = TinyEngine(weights), TinyEngine(weights)
    tokens = greedy_generate(cached.forward, prompt, max_new)
    print(f"with cache: {cached.forwards} forwards, {cached.positions} positions")
    again = without_cache(plain, prompt, max_new)
    print(f"without: {plain.forwards} forwards, {plain.positions} positions")
    print("same tokens:", tokens == again)
    print("equal to transformers:", tokens == by_transformers(weights, prompt, max_new))


if __name__ == "__main__":
    main()
