"""Times and memory of the stages, of dualrev and of other libraries, by pytest-benchmark: `make bench`."""

import os

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")  # the last is XLA's


def use_one_thread() -> None:
    """Everything on one thread, and JAX on the processor. Libraries read this when they are imported: call it first."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
