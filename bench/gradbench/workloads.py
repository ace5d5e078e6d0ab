"""Inputs of every eval at given sizes. Where GradBench draws random inputs, they are drawn alike, with its seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.gradbench.evals.ht import BONES, PARAMETERS

__all__ = ["SIZES", "WORKLOADS"]

SEED = 31337


def hello(x: float) -> Any:
    """A number to square."""
    return float(x)


def det(ell: int) -> Any:
    """A random matrix with `ell` rows, as one list."""
    return {"A": np.random.RandomState(SEED).rand(ell * ell).tolist(), "ell": ell}


def llsq(n: int) -> Any:
    """128 random coefficients, and `n` points."""
    return {"x": np.random.RandomState(SEED).rand(128).tolist(), "n": n}


def lse(n: int) -> Any:
    """`n` random exponents."""
    return {"x": np.random.RandomState(SEED).rand(n).tolist()}


def ode(n: int, s: int) -> Any:
    """`n` random coefficients, and `s` steps."""
    return {"x": np.random.RandomState(SEED).rand(n).tolist(), "s": s}


def kmeans(k: int, n: int, d: int = 8) -> Any:
    """`n` random points in `d` dimensions, the last `k` of them as the centres."""
    points = np.random.RandomState(SEED).rand(n, d).tolist()
    return {"points": points, "centroids": points[-k:]}


def gmm(d: int, k: int, n: int = 1000) -> Any:
    """`k` components and `n` points in `d` dimensions, drawn here."""
    rng = np.random.default_rng(SEED)
    drawn = {
        "x": rng.normal(size=(n, d)),
        "mu": rng.uniform(size=(k, d)),
        "q": rng.normal(size=(k, d)),
        "l": rng.normal(size=(k, d * (d - 1) // 2)),
        "alpha": rng.normal(size=k),
    }
    return {"d": d, "k": k, "n": n, "m": 0, "gamma": 1.0} | {name: x.tolist() for name, x in drawn.items()}


def lstm(layers: int, characters: int, bits: int = 14) -> Any:
    """Random parameters and a random text, in the shapes of GradBench's files."""
    rng = np.random.default_rng(SEED)
    drawn = {
        "main_params": rng.normal(size=(2 * layers, 4 * bits)),
        "extra_params": rng.normal(size=(3, bits)),
        "state": rng.normal(size=(2 * layers, bits)),
        "sequence": rng.integers(0, 2, size=(characters, bits)).astype(float),
    }
    return {name: x.tolist() for name, x in drawn.items()}


def ba(n: int, m: int, p: int) -> Any:
    """A random camera and point for all observations, as in GradBench's files."""
    rng = np.random.default_rng(SEED)
    lens = [700.0, 2.0, -3.0, -0.1, 0.05]
    camera = [*rng.normal(scale=0.1, size=6).tolist(), *lens]
    point = [*rng.normal(scale=0.5, size=2).tolist(), -5.0]
    return {
        "n": n,
        "m": m,
        "p": p,
        "cam": camera,
        "x": point,
        "w": 0.8,
        "feat": rng.normal(scale=90.0, size=2).tolist(),
    }


def ht(vertices: int, points: int, places: int = 1) -> Any:
    """A random hand with as many bones as in GradBench's files; four bones at most carry a vertex.

    `places` is 1 if the points lie in triangles, and 0 if they belong to vertices.
    """
    rng = np.random.default_rng(SEED)
    parents = [-1, 0] + [1 if joint == 0 else 4 * finger + joint + 1 for finger in range(5) for joint in range(4)]
    relatives = np.tile(np.eye(4), (BONES, 1, 1))
    relatives[:, :3, 3] = rng.normal(scale=0.3, size=(BONES, 3))
    absolutes = relatives.copy()
    for bone in range(1, BONES):
        absolutes[bone] = absolutes[parents[bone]] @ relatives[bone]
    weights = np.zeros((vertices, BONES))
    for vertex in range(vertices):
        weights[vertex, rng.choice(BONES, 4, replace=False)] = rng.dirichlet(np.ones(4))
    triangles = rng.integers(0, vertices, size=(2 * vertices, 3))
    model = {
        "bone_count": BONES,
        "bone_names": [f"bone {bone}" for bone in range(BONES)],
        "parents": parents,
        "base_relatives": relatives.tolist(),
        "inverse_base_absolutes": np.linalg.inv(absolutes).tolist(),
        "base_positions": np.column_stack((rng.normal(size=(vertices, 3)), np.ones(vertices))).tolist(),
        "weights": weights.tolist(),
        "triangles": triangles.tolist(),
        "is_mirrored": False,
    }
    chosen = rng.integers(0, 2 * vertices if places else vertices, size=points).tolist()
    data = {"model": model, "correspondences": chosen, "points": rng.normal(size=(points, 3)).tolist()}
    us = rng.dirichlet(np.ones(3), size=points)[:, :2].tolist() if places else []
    return {"theta": rng.normal(scale=0.3, size=PARAMETERS).tolist(), "us": us, "data": data}


def particle(w: float) -> Any:
    """The control from which the descent starts."""
    return {"w": float(w)}


def saddle(start: float) -> Any:
    """A point on the diagonal, from which the descents start."""
    return {"start": [float(start), float(start)]}


WORKLOADS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (hello, det, llsq, lse, ode, kmeans, gmm, lstm, ba, ht, particle, saddle)
}

#: For each eval: the function, its derivatives, and the sizes that `make gradbench` measures.
SIZES: dict[str, tuple[str | None, tuple[str, ...], list[tuple[float, ...]]]] = {
    "hello": ("square", ("double",), [(1.0,)]),
    "llsq": ("primal", ("gradient",), [(16,), (1024,), (8196,)]),
    "lse": ("primal", ("gradient",), [(2500,), (40_000,), (640_000,)]),
    "det": ("primal", ("gradient",), [(5,), (7,), (8,)]),
    "ode": ("primal", ("gradient",), [(1000, 1), (1000, 10), (1000, 100), (10_000, 10)]),
    "gmm": ("objective", ("jacobian",), [(2, 5), (10, 5), (10, 25), (32, 5)]),
    "lstm": ("objective", ("jacobian",), [(2, 1024), (4, 1024)]),
    "kmeans": ("cost", ("dir",), [(10, 1000), (100, 1000), (100, 10_000)]),
    "ba": ("objective", ("jacobian",), [(49, 7776, 31_843)]),
    "ht": ("objective", ("jacobian",), [(544, 100, 0), (544, 100, 1), (10_000, 100, 1)]),
    "particle": (None, ("ff", "fr", "rf", "rr"), [(0.0,)]),
    "saddle": (None, ("ff", "fr", "rf", "rr"), [(1.0,)]),
}
