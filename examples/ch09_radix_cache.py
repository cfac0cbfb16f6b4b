"""Chapter 9: what one request has computed, the next one need not compute again.

python examples/ch09_radix_cache.py
"""

from typing import Any

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.scheduler.scheduler import ForwardData


class WatchedLLM(LLM):
    """Notes how many tokens each prefill computes, and how many pages are free when it has been handled."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.prefilled: list[int] = []
        self.free: list[int] = []

    def _process_last_data(self, last_data: ForwardData | None) -> None:
        super()._process_last_data(last_data)
        if last_data is not None and last_data[0].batch.is_prefill:
            self.prefilled.append(len(last_data[0].batch.positions))
            self.free.append(len(self.cache_manager.free_slots))


def make_llm(num_pages: int, page_size: int = 1) -> WatchedLLM:
    config = tiny_config()
    return WatchedLLM(
        (config, tiny_state_dict(config, seed=0)), num_page_override=num_pages, page_size=page_size
    )


def main() -> None:
    llm = make_llm(256)
    prompts = [prompt(0, 40) + prompt(i, 4) for i in range(1, 5)]
    for ids in prompts:
        llm.generate([ids], SamplingParams(max_tokens=1, ignore_eos=True))
    print("prefill", *llm.prefilled)
    print(f"{sum(llm.prefilled)} of {sum(map(len, prompts))}")

    for page_size in (1, 4):
        llm = make_llm(256 // page_size, page_size)
        for _ in range(2):
            llm.generate([prompt(0, 16)], SamplingParams(max_tokens=1, ignore_eos=True))
        print(f"the same prompt twice, page size {page_size}:", ", ".join(map(str, llm.prefilled)))

    # Two equal prompts in one batch: both compute, the second copy is freed when the first is in the cache.
    llm = make_llm(32)
    llm.generate([prompt(0, 8)] * 2, SamplingParams(max_tokens=4, ignore_eos=True))
    print("free", *llm.free, "after prefill")
    cached = llm.cache_manager.prefix_cache.size_info.total_size
    print(f"free {len(llm.cache_manager.free_slots)}, cached {cached} at the end")


if __name__ == "__main__":
    main()
