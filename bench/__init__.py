"""Benchmarks of the stages, of dualrev and of other libraries: time and memory, by pytest-benchmark (`make bench`)."""

import os

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")  # the last is XLA's


def use_one_thread() -> None:
    """Limit all libraries to one thread, and JAX to the CPU. Call it before their import: they read this once."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
