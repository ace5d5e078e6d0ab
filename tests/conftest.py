"""`make test` tries the same examples each time; `make campaign` looks for new ones. No example fails as it is slow."""

import gc
import time

import pytest
from hypothesis import HealthCheck, settings

collect_ignore = ["package"]  # programs of users, which test_package.py runs

_patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _patient, derandomize=True)
settings.register_profile("campaign", _patient, derandomize=False, print_blob=True)
settings.load_profile("repeatable")


@pytest.fixture
def checked(monkeypatch):
    """Let every derivative compare its value with the function's."""
    monkeypatch.setenv("DUALREV_CHECK", "1")


@pytest.fixture(scope="module")
def unoptimized(request):
    """Compile as with NUMBA_OPT=0, in up to half the time less: for modules that test values, not code or memory.

    LLVM keeps the order of floating-point operations at every level. `make campaign`, which runs the slow tests, too,
    compiles these modules with optimisation. Not for ufuncs by `vectorize`: dualrev compares their kernels, which other
    modules may have compiled.
    """
    from numba.core import config

    before = config.OPT
    if request.config.option.markexpr == "not slow":
        config.OPT = type(before)(0)
    yield
    config.OPT = before


@pytest.fixture(scope="module", autouse=True)
def _what_is_alive_stays_alive():
    """Numba keeps millions of objects: no collection has to look at those of earlier modules."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def timed_once():
    """The comparison of stages runs each once to time it: times are shown, but do not matter in tests."""

    def once(run, arguments=tuple, **options):
        start = time.perf_counter()
        run(*arguments())
        return time.perf_counter() - start

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stages.comparison.measure._best", once)
        yield
