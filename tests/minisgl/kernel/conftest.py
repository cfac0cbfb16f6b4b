"""Where kernels run: interpreted on the CPU, or compiled where there is a GPU (`-m gpu`)."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(scope="session", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> torch.device:
    device = torch.device(request.param)
    if (device.type == "cuda") != torch.cuda.is_available():
        pytest.skip("kernels are interpreted where there is no GPU, and compiled where there is one")
    return device
