"""Stage 1, right: an engine that writes what transformers writes, with a real model.

Everything of chapters 1 to 6 at once: weights from a checkpoint, a paged pool, attention over scattered
pages, one batch of prompts of different lengths, filled in by hand.

    python examples/stage1_right.py
"""

import torch
import transformers

from minisgl.core import Batch, Req, SamplingParams, flat_positions
from minisgl.engine import Engine, EngineConfig
from minisgl.utils.hf import load_tokenizer

PROMPTS = ["The capital of France is", "3 + 4 =", "中国的首都是"]
MAX_TOKENS, ROW_LENGTH, PAGE_SIZE = 12, 32, 4


def main() -> None:
    engine = Engine(
        EngineConfig(max_running_req=3, page_size=PAGE_SIZE, num_page_override=3 * ROW_LENGTH // PAGE_SIZE)
    )
    assert engine.model_path is not None
    tokenizer = load_tokenizer(engine.model_path)
    token_pool = torch.zeros(4, ROW_LENGTH, dtype=torch.int32)
    pages = torch.randperm(3 * ROW_LENGTH // PAGE_SIZE, generator=torch.Generator().manual_seed(0))
    locations = (pages[:, None] * PAGE_SIZE + torch.arange(PAGE_SIZE)).flatten()
    reqs = []
    for row, text in enumerate(PROMPTS):
        ids = torch.tensor(tokenizer.encode(text), dtype=torch.int32)
        engine.page_table[row, :ROW_LENGTH] = locations[row * ROW_LENGTH : (row + 1) * ROW_LENGTH]
        token_pool[row, : len(ids)] = ids
        reqs.append(Req(ids, row, 0, MAX_TOKENS, row, SamplingParams(max_tokens=MAX_TOKENS), None))
    lengths = [len(req.input_ids) for req in reqs]

    for step in range(MAX_TOKENS):
        batch = Batch(reqs, "decode" if step else "prefill")
        rows, positions = flat_positions(reqs)
        batch.input_ids, batch.positions = token_pool[rows, positions.long()], positions.int()
        batch.out_loc = engine.page_table[rows, positions.long()]
        engine.attn_backend.prepare_metadata(batch)
        output = engine.forward_batch(batch, engine.sampler.prepare(batch))
        for req, token in zip(reqs, output.next_tokens_cpu, strict=True):
            req.append_host(token.view(1))
            token_pool[req.table_idx, req.cached_len] = token

    model = transformers.AutoModelForCausalLM.from_pretrained(engine.model_path, dtype=torch.float32).eval()
    for req, length, text in zip(reqs, lengths, PROMPTS, strict=True):
        ids = req.input_ids[None, :length].long()
        expected = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=MAX_TOKENS, do_sample=False,
            eos_token_id=-1, pad_token_id=0,
        )  # fmt: skip
        written = req.input_ids[length:].tolist()
        ends = [i for i, token in enumerate(written) if token in engine.model_config.eos_token_ids]
        print(repr(text + tokenizer.decode(written[: min(ends, default=MAX_TOKENS)])))
        print("  equal to transformers:", expected[0].tolist() == req.input_ids.tolist())


if __name__ == "__main__":
    main()
