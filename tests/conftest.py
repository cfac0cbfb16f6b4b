"""One thread for torch: results and run times do not depend on the number of cores.

Without a GPU Triton interprets its kernels; it reads the variable when it is first imported, by whomever.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import torch  # noqa: E402 - after the variables above, which torch reads at import

torch.set_num_threads(1)
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
