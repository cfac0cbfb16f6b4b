"""Chapter 11: the next step is launched before the last one's tokens are looked at.

python examples/ch11_overlap.py
"""

from minisgl.core import SamplingParams
from minisgl.engine import ForwardOutput
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.scheduler import ForwardInput
from minisgl.scheduler.scheduler import ForwardData

PARAMS = SamplingParams(max_tokens=3, ignore_eos=True)


class WatchedLLM(LLM):
    """Notes when a batch is launched and when its tokens are handled."""

    def __init__(self, *args: object, **settings: object) -> None:
        super().__init__(*args, **settings)
        self.order: list[str] = []
        self.launched: list[ForwardInput] = []

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        self.launched.append(forward_input)
        self.order.append(f"launch {len(self.launched)}")
        return super()._forward(forward_input)

    def _process_last_data(self, last_data: ForwardData | None) -> None:
        if last_data is not None:
            step = next(i for i, each in enumerate(self.launched, 1) if each is last_data[0])
            self.order.append(f"handle {step}")
        super()._process_last_data(last_data)


def main() -> None:
    config = tiny_config()
    model = (config, tiny_state_dict(config, seed=0))
    overlap = WatchedLLM(model, num_page_override=64, cache_type="naive", overlap=True)
    normal = WatchedLLM(model, num_page_override=64, cache_type="naive", overlap=False)
    tokens = overlap.generate([prompt(0, 5)], PARAMS)[0]["token_ids"]
    print(", ".join(overlap.order))
    print("equal to normal loop:", tokens == normal.generate([prompt(0, 5)], PARAMS)[0]["token_ids"])
    print(f"free {len(overlap.cache_manager.free_slots)} of 64")


if __name__ == "__main__":
    main()
