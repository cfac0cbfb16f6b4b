"""What the engine part sees of each known mistake, were it not for the hidden tests before it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from judge.engine_run import run_engine
from judge.engine_tier import Tier
from judge.exercises import Exercise
from judge.harness.diagnosis import mutant_source
from judge.sandbox import Box, Pool
from judge.source import parameters
from judge.types import Verdict

UNSEEN = {
    # no two logits of a model are equal, and no model has the eos 0
    "greedy_generate": "df",
    # a sampled token is on the CPU before the next step, and what ends a request is its number of tokens
    "req_lengths": "bcf",
    # the engine turns positions into int32 itself
    "flat_positions": "e",
    # on the CPU T0 is float32
    "apply_rope": "de",
    "yarn_factor": "",
    # the next norm adds the two, in whatever order
    "residual_stream": "e",
    # T0 has no biases and is complete; memory is not looked at there
    "merge_projections": "bcdef",
    # the engine's weights fit
    "load_state_dict": "de",
    # it asks for no impossible mask
    "causal_mask": "e",
    # every request there computes something, and either integer will do for torch
    "seqlen_metadata": "ce",
    # on the CPU T0 is float32
    "paged_attention": "fh",
    # it asks for no wrong value
    "page_address": "cde",
    # whoever draws rescales; hardly ever are two tokens equally likely
    "filter_probs": "ehi",
    # its settings have no such override
    "plan_num_pages": "df",
    # the adapter's pool holds all requests, each at its target but for its next tokens
    "continuous_step": "abcdef",
    # the adapter takes the cut and the lock count, not the suffixes
    "radix_split": "c",
    # it never asks for more than there is
    "evict": "e",
    # no prompt is empty there
    "match_req": "d",
    # nothing evicts between the unlock and the insertion
    "cache_req": "c",
    # let in a little later, a request is computed all the same
    "try_allocate_one": "h",
    "stale_row": "",
    # no step of these runs finds nobody to decode; after its forward a batch is taken in again
    "decode_order": "ce",
    # whose page is which changes nothing that is computed; no step begins inside a page and needs another
    "allocate_paged": "fh",
    # a prompt that is cut is the last of its batch: nobody asks what is reserved behind it
    "add_one_req": "a",
    # as many decode as the budget had tokens for their prompts; waiting prompts are told up to its end
    "plan_mixed": "cf",
    # it is asked only where somebody needs a page
    "retract_to_fit": "f",
    # requests come in ascending uid, all of a call at once
    "lpm_order": "cg",
    "abort_in_flight": "",
    # nobody takes a row between the two calls
    "slot_reuse": "d",
    # generate takes nothing more for an ended request, whose tokens nobody reads; f just keeps them for ever
    "overlap_finish": "bcf",
    # a call of generate brings all its messages at once, and a CPU has no streams
    "overlap_loop": "bde",
}


@pytest.fixture(scope="module")
def boxes() -> Iterator[Pool]:
    with Pool() as shared:
        yield shared


@pytest.mark.slow
def test_engine_notices_known_mistakes(exercise: Exercise, boxes: Pool) -> None:
    if exercise.place == "none":
        pytest.skip("this exercise has no place in the engine")
    unseen = ""
    for mutant in exercise.hidden.mutants:
        source = mutant_source(exercise.hidden, mutant).encode()

        def load(box: Box, source: bytes = source) -> None:
            box.load(
                source,
                filename="mutant.py",
                target=exercise.name,
                kind=exercise.kind,
                parameters=parameters(exercise),
                members=list(exercise.members),
                seed=1,
            )

        run = run_engine(exercise, Tier(boxes), b"engine part" * 3, load, lambda event: None)
        if run.result.verdict is Verdict.AC:
            unseen += mutant.letter
    assert unseen == UNSEEN[exercise.slug]
