"""Chapter 6: an engine driven by hand.

Nobody schedules yet. The example owns two rows of the page table, gives each request its own stretch of the
pool, fills in the batch, and hands every token to the next step.

    python examples/ch06_engine.py
"""

import torch
import transformers

from minisgl.core import Batch, Req, SamplingParams, flat_positions
from minisgl.engine import Engine, EngineConfig
from minisgl.models.tiny import hf_config_dict, prompt, tiny_config, tiny_state_dict

MAX_TOKENS, ROW_LENGTH = 8, 16


def main() -> None:
    config = tiny_config()
    weights = tiny_state_dict(config, seed=0)
    engine = Engine(
        EngineConfig(model=(config, weights), max_running_req=2, num_page_override=2 * ROW_LENGTH)
    )
    token_pool = torch.zeros(3, ROW_LENGTH, dtype=torch.int32)
    params = SamplingParams(max_tokens=MAX_TOKENS)
    reqs = []
    for row, ids in enumerate((prompt(0, 5), prompt(1, 4))):
        # this row's tokens live at fixed places: ROW_LENGTH slots of the pool, one after the other
        engine.page_table[row, :ROW_LENGTH] = torch.arange(ROW_LENGTH) + row * ROW_LENGTH
        token_pool[row, : len(ids)] = torch.tensor(ids)
        reqs.append(Req(torch.tensor(ids, dtype=torch.int32), row, 0, MAX_TOKENS, row, params, None))

    sizes = []
    for step in range(MAX_TOKENS):
        batch = Batch(reqs, "decode" if step else "prefill")
        rows, positions = flat_positions(reqs)
        batch.input_ids = token_pool[rows, positions.long()]
        batch.positions = positions
        batch.out_loc = engine.page_table[rows, positions.long()]
        engine.attn_backend.prepare_metadata(batch)
        sizes.append(len(positions))
        output = engine.forward_batch(batch, engine.sampler.prepare(batch))
        for req, token in zip(reqs, output.next_tokens_cpu, strict=True):
            req.append_host(token.view(1))
            token_pool[req.table_idx, req.cached_len] = token
    print("tokens per forward", *sizes)

    hf_config = transformers.AutoConfig.for_model(**hf_config_dict(config))
    hf_model = transformers.AutoModelForCausalLM.from_config(hf_config, attn_implementation="eager").eval()
    hf_model.load_state_dict(weights, strict=False)  # the head is the embedding
    equal = True
    for req in reqs:
        ids = req.input_ids[None, :-MAX_TOKENS].long()
        expected = hf_model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=MAX_TOKENS, do_sample=False,
            eos_token_id=None, pad_token_id=0,
        )  # fmt: skip
        equal = equal and expected[0].tolist() == req.input_ids.tolist()
    print("equal to transformers:", equal)


if __name__ == "__main__":
    main()
