"""Sample a hierarchical regression of firms' investments: `python -m examples.investment`.

The data are Grunfeld's: 11 firms, 20 years (1935 to 1954). The logarithm of firm i's investment in year t is

    a_i + b_i E_it + c_i K_it + noise,

where K is the logarithm of the firm's capital, and E the logarithm of its value that the market expects. Expectations
are adaptive: each year E moves towards the value by one share of the distance if the value is above E, and by another
share if it is below. The noise has Student's t distribution with 4 degrees of freedom. The a, b and c of the firms are
normal. The model has 42 unknowns, a loop and a branch.

dualrev's gradient is used by HMC in compiled code (hmc.py), by nutpie, and as a PyTensor Op in PyMC and in nutpie. The
table compares these with the same model written in PyMC, with PyTensor's or JAX's gradient. Libraries that are not
installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

import dualrev as dr
from examples.hmc import chain

NAMES = [f"{what} {name}" for what in ("mean of", "log spread of") for name in "abc"]
NAMES += ["logit of the share up", "logit of the share down", "log scale of the noise"]
CENTRES = np.array([0.0, 0.5, 0.5, -1.0, -1.0, -1.0, 0.0, 0.0, -1.5])  # of the normal priors of these
SPREADS = np.array([2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.5, 1.5, 1.0])
SHARED = len(NAMES)


class Panel(NamedTuple):
    """The data: logarithms minus their means, of shape (firms, years)."""

    invested: np.ndarray
    value: np.ndarray
    capital: np.ndarray


@njit
def log_density(p, panel):
    """Compute the log density of the nine numbers in NAMES and of each firm's standardised a, b and c."""
    firms, years = panel.value.shape
    up, down = 1.0 / (1.0 + math.exp(-p[6])), 1.0 / (1.0 + math.exp(-p[7]))
    precision, total = math.exp(-p[8]), 0.0
    for k in range(len(p)):
        z = (p[k] - CENTRES[k]) / SPREADS[k] if k < SHARED else p[k]
        total -= 0.5 * z * z
    for i in range(firms):
        a = p[0] + math.exp(p[3]) * p[SHARED + i]
        b = p[1] + math.exp(p[4]) * p[SHARED + firms + i]
        c = p[2] + math.exp(p[5]) * p[SHARED + 2 * firms + i]
        expected = panel.value[i, 0]
        for t in range(years):
            surprise = panel.value[i, t] - expected
            if surprise > 0.0:
                expected += up * surprise
            else:
                expected += down * surprise
            z = (panel.invested[i, t] - a - b * expected - c * panel.capital[i, t]) * precision
            total -= 2.5 * math.log1p(0.25 * z * z) + p[8]
    return total


def start_of(panel: Panel) -> np.ndarray:
    """Return the start of the chains, near the prior means. At these, slopes are 0, which nutpie refuses."""
    return np.concatenate([CENTRES, 0.1 * np.cos(np.arange(3.0 * len(panel.value)))])


def panel_of(invested: np.ndarray, value: np.ndarray, capital: np.ndarray) -> Panel:
    """Convert positive numbers of shape (firms, years) to a panel."""
    logs = [np.log(numbers) for numbers in (invested, value, capital)]
    return Panel(*(x - np.mean(x) for x in logs))


def grunfeld() -> tuple[list[str], Panel]:
    """Load the firms' names and data, which come with statsmodels."""
    from statsmodels.datasets import grunfeld as data

    table = data.load_pandas().data.sort_values(["firm", "year"], kind="stable")
    firms = list(dict.fromkeys(table["firm"]))
    columns = (table[name].to_numpy(float).reshape(len(firms), -1) for name in ("invest", "value", "capital"))
    return firms, panel_of(*columns)


def simulated(firms: int, years: int = 12, seed: int = 0) -> tuple[list[str], Panel]:
    """Simulate firms of a known model."""
    rng = np.random.default_rng(seed)
    value, capital = np.cumsum(rng.normal(0.0, 0.3, (2, firms, years)), axis=2) + rng.normal(size=(2, firms, 1))
    expected, invested = value[:, 0], np.empty((firms, years))
    a, b, c = rng.normal([0.0, 0.7, 0.4], [0.4, 0.2, 0.2], (firms, 3)).T
    for t in range(years):
        surprise = value[:, t] - expected
        expected = expected + np.where(surprise > 0.0, 0.8, 0.4) * surprise
        invested[:, t] = a + b * expected + c * capital[:, t] + 0.2 * rng.standard_t(4, firms)
    return [f"firm {i}" for i in range(firms)], panel_of(np.exp(invested), np.exp(value), np.exp(capital))


# ----------------------------------------------------------------------------------------------------------------------
# Ways to sample. Each returns its draws, of shape (chains, draws, unknowns), and times.


class Size(NamedTuple):
    """The numbers of chains, and of warm-up steps and draws in each."""

    chains: int
    warmup: int
    draws: int


class Run(NamedTuple):
    """The result of one way of sampling."""

    draws: np.ndarray
    before: float  # seconds of processor time before the first draw: most of it is compilation
    took: float  # seconds of processor time of the warm-up and the draws
    gradients: float  # of a draw


def seconds() -> float:
    """Return the processor time of this process and its finished children: PyTensor starts compilers."""
    return sum(os.times()[:4])


def by_hmc(panel: Panel, size: Size) -> Run:
    """Sample by examples/hmc.py: compiled code that calls the compiled gradient."""
    begin = seconds()
    given = log_density, start_of(panel), panel
    chain(*given, 1, 1, 2.5, 0)
    ready = seconds()
    runs = [chain(*given, size.warmup, size.draws, 2.5, seed) for seed in range(size.chains)]
    took = seconds() - ready
    gradients = sum(count for _, count in runs) / (size.chains * size.draws)
    return Run(np.stack([draws for draws, _ in runs]), ready - begin, took, gradients)


def by_nutpie(panel: Panel, size: Size) -> Run:
    """Sample by nutpie, which calls dualrev's gradient through Python."""
    from dualrev.interop import nutpie as bridge

    begin = seconds()
    start = start_of(panel)
    dr.value_and_grad(log_density)(start, panel)
    model = bridge.model(log_density, len(start), panel, name="p", start=lambda seed: start)
    return by_nutpie_of(model, size, seconds() - begin)


def by_nutpie_of(model: Any, size: Size, before: float) -> Run:
    """Sample a model that nutpie has compiled, by its NUTS."""
    import nutpie

    begin = seconds()
    many = {"draws": size.draws, "tune": size.warmup, "chains": size.chains}
    trace = nutpie.sample(model, **many, cores=1, seed=1, progress_bar=False)
    return run_of(trace, before, seconds() - begin)


def by_pymc_of(model: Any, size: Size, before: float) -> Run:
    """Sample a model by PyMC's NUTS."""
    import pymc as pm

    begin = seconds()
    with model:
        points, step = pm.init_nuts(init="adapt_diag", chains=size.chains, random_seed=1, progressbar=False)
        ready = seconds()
        many = {"draws": size.draws, "tune": size.warmup, "chains": size.chains}
        quiet = {"progressbar": False, "compute_convergence_checks": False}
        trace = pm.sample(**many, cores=1, step=step, initvals=points, random_seed=1, **quiet)
    return run_of(trace, before + ready - begin, seconds() - ready)


def run_of(trace: Any, before: float, took: float) -> Run:
    """Convert ArviZ's data to a Run."""
    found = [trace.posterior[name].values for name in ("p", "shared", "z") if name in trace.posterior]
    draws = np.concatenate([x.reshape(*x.shape[:2], -1) for x in found], axis=2)
    return Run(draws, before, took, float(trace.sample_stats["n_steps"].mean()))


def op_model(panel: Panel) -> Any:
    """Build a PyMC model whose density is dualrev's Op."""
    import pymc as pm

    from dualrev.interop import pytensor as bridge

    start = start_of(panel)
    with pm.Model() as model:
        p = pm.Flat("p", shape=len(start), initval=start)
        pm.Potential("density", bridge.function(log_density, panel)(p))
    return model


def pymc_model(panel: Panel) -> Any:
    """Build the model in PyMC, with vectors over the firms and an unrolled loop over the years."""
    import pymc as pm
    import pytensor.tensor as pt

    firms, years = panel.value.shape
    with pm.Model() as model:
        shared = pm.Normal("shared", CENTRES, SPREADS, shape=SHARED)
        z = pm.Normal("z", shape=(3, firms))
        a, b, c = (shared[k] + pt.exp(shared[3 + k]) * z[k] for k in range(3))
        up, down = pm.math.sigmoid(shared[6]), pm.math.sigmoid(shared[7])
        expected, means = pt.as_tensor(panel.value[:, 0]), []
        for t in range(years):
            surprise = panel.value[:, t] - expected
            expected = expected + pt.switch(surprise > 0.0, up, down) * surprise
            means.append(a + b * expected + c * panel.capital[:, t])
        noise = {"nu": 4.0, "sigma": pt.exp(shared[8])}
        pm.StudentT("invested", mu=pt.stack(means, axis=1), observed=panel.invested, **noise)
    return model


def compiled_by_nutpie(made: Callable[[Panel], Any], **options: Any) -> Callable[[Panel, Size], Run]:
    """Return a way to sample: a PyMC model, compiled by nutpie."""

    def way(panel: Panel, size: Size) -> Run:
        """Compile the model in nutpie, and sample."""
        import nutpie

        begin = seconds()
        model = nutpie.compile_pymc_model(made(panel), **options)
        return by_nutpie_of(model, size, seconds() - begin)

    return way


def in_pymc(made: Callable[[Panel], Any]) -> Callable[[Panel, Size], Run]:
    """Return a way to sample: a model in PyMC."""

    def way(panel: Panel, size: Size) -> Run:
        """Build the model, and sample in PyMC."""
        begin = seconds()
        model = made(panel)
        return by_pymc_of(model, size, seconds() - begin)

    return way


WAYS: dict[str, tuple[str, tuple[str, ...], Callable[[Panel, Size], Run]]] = {
    "hmc": ("dualrev, HMC in njit", (), by_hmc),
    "nutpie": ("dualrev, called by nutpie", ("nutpie",), by_nutpie),
    "op": ("dualrev's Op, in PyMC", ("pymc",), in_pymc(op_model)),
    "op-nutpie": ("dualrev's Op, in nutpie", ("pymc", "nutpie"), compiled_by_nutpie(op_model)),
    "pymc": ("PyMC's model, in PyMC", ("pymc",), in_pymc(pymc_model)),
    "pymc-nutpie": ("PyMC's model, in nutpie", ("pymc", "nutpie"), compiled_by_nutpie(pymc_model)),
    "pymc-jax": (
        "PyMC's model, in nutpie by JAX",
        ("pymc", "nutpie", "jax"),
        compiled_by_nutpie(pymc_model, backend="jax", gradient_backend="jax"),
    ),
}


# ----------------------------------------------------------------------------------------------------------------------
# Output


def quality(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ArviZ' effective sample sizes, standard errors of the means, and R-hats."""
    import arviz as az

    data = az.convert_to_dataset({"p": draws})
    return tuple(np.asarray(of["p"]) for of in (az.ess(data), az.mcse(data), az.rhat(data)))  # type: ignore[return-value]


def beside(run: Run, first: Run) -> str:
    """Format the second half of a row; its last cell is the largest difference of means in standard errors."""
    ess, error, rhat = quality(run.draws)
    away = np.abs(np.mean(run.draws, axis=(0, 1)) - np.mean(first.draws, axis=(0, 1)))
    most = "-" if run is first else f"{np.max(away / np.hypot(error, quality(first.draws)[1])):.1f}"
    return f" {np.min(ess):.0f} | {np.min(ess) / run.took:.1f} | {np.max(rhat):.3f} | {most} |"


def draw(firms: list[str], run: Run, path: str) -> None:
    """Draw each firm's elasticities with respect to expected value and capital: medians and 90% intervals."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    draws = run.draws.reshape(-1, run.draws.shape[2])
    figure, axes = plt.subplots(1, 2, figsize=(8.0, 3.4), sharey=True, layout="constrained")
    for k, (axis, title) in enumerate(zip(axes, ("by expected value", "by capital"), strict=True), start=1):
        of = SHARED + k * len(firms) + np.arange(len(firms))
        slopes = draws[:, [k]] + np.exp(draws[:, [3 + k]]) * draws[:, of]
        low, at, high = np.quantile(slopes, [0.05, 0.5, 0.95], axis=0)
        axis.errorbar(at, np.arange(len(firms)), xerr=(at - low, high - at), fmt="o", markersize=4)
        axis.axvspan(*np.quantile(draws[:, k], [0.05, 0.95]), color="0.9")
        axis.set(title=f"elasticity {title}", yticks=np.arange(len(firms)), yticklabels=firms)
    figure.savefig(path, dpi=110)


def main(argv: Sequence[str] | None = None) -> int:
    """Sample in all ways, and print their times and how well they agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulated", type=int, metavar="N", help="use N simulated firms, without statsmodels")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="only these ways to sample")
    parser.add_argument("--chains", type=int, default=2, help="number of chains (2)")
    parser.add_argument("--warmup", type=int, default=500, help="warm-up steps of a chain (500)")
    parser.add_argument("--draws", type=int, default=1000, help="draws of a chain (1000)")
    parser.add_argument("--picture", metavar="FILE", help="draw the elasticities of the firms")
    options = parser.parse_args(argv)
    firms, panel = simulated(options.simulated) if options.simulated else grunfeld()
    size, wanted = Size(options.chains, options.warmup, options.draws), []
    print(f"{panel.value.size} observations, {len(start_of(panel))} unknowns, {size.chains} chains")
    for title, libraries, way in (WAYS[name] for name in options.ways):
        if missing := [library for library in libraries if importlib.util.find_spec(library) is None]:
            print(f"{title}: left out, as {' and '.join(missing)} is not installed")
        else:
            wanted.append((title, way))
    if not wanted:
        return 1
    known = importlib.util.find_spec("arviz") is not None
    if not known:
        print("ArviZ is not installed: effective sample sizes are left out")
    print("| way | seconds before | seconds of sampling | gradients a draw |", end="")
    print(" least effective sample | of it a second | largest R-hat | means differ by |" if known else "")
    print("| --- |" + " ---: |" * (7 if known else 3), flush=True)
    first = None
    for title, way in wanted:
        run = way(panel, size)
        first = first or run
        row = f"| {title} | {run.before:.1f} | {run.took:.2f} | {run.gradients:.1f} |"
        print(row + (beside(run, first) if known else ""), flush=True)
    assert first is not None
    print("| unknown | mean | standard deviation |\n| --- | ---: | ---: |")
    for name, column in zip(NAMES, np.moveaxis(first.draws, 2, 0), strict=False):
        print(f"| {name} | {np.mean(column):.3f} | {np.std(column):.3f} |")
    if options.picture:
        draw(firms, first, options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
