"""Stage 2, scheduled: many requests, a small pool, and everything of chapters 7 to 11 switched on.

Twelve prompts share beginnings; pages of 4 tokens, prompts cut into chunks of 16, steps overlapped. What each
request gets is what it gets alone, and at the end every page is back.

    python examples/stage2_scheduled.py
"""

from collections import Counter

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.utils import trace

PARAMS = SamplingParams(max_tokens=10, ignore_eos=True)
PROMPTS = [prompt(0, 24) + prompt(i, 3 + 5 * (i % 4)) for i in range(1, 13)]


def main() -> None:
    config = tiny_config()
    model = (config, tiny_state_dict(config, seed=0))
    llm = LLM(
        model, max_running_req=6, page_size=4, num_page_override=40, max_extend_tokens=16, overlap=True,
        mixed=True, policy="lpm",
    )  # fmt: skip
    with trace.recording(trace.Recorder()) as recorder:
        results = llm.generate(PROMPTS, PARAMS)
    counts = Counter(event["type"] for event in recorder.events)
    batches = [event for event in recorder.events if event["type"] == "batch"]
    print(f"{len(PROMPTS)} requests in {len(batches)} steps, at most {max(map(rows_of, batches))} at once")
    print(f"admitted {counts['admitted']}, evictions {counts['evict']}, refused {counts['refused']} times")
    computed, asked = sum(sum(event["tokens"]) for event in batches), sum(map(len, PROMPTS)) + 12 * 9
    print(f"{computed} of {asked} tokens computed, the others were cached")

    alone = LLM(model, num_page_override=256, cache_type="naive", overlap=False)
    expected = [alone.generate([ids], PARAMS)[0]["token_ids"] for ids in PROMPTS]
    print("same tokens as one by one:", [result["token_ids"] for result in results] == expected)
    cache = llm.cache_manager
    cached = cache.prefix_cache.size_info.total_size // 4
    print(f"{len(cache.free_slots)} pages free + {cached} cached = {len(cache.free_slots) + cached} of 40")


def rows_of(event: dict) -> int:
    return len(event["uids"])


if __name__ == "__main__":
    main()
