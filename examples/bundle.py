"""Bundle adjustment with a sparse Jacobian, compared with SciPy's differences: `python -m examples.bundle`.

Cameras have seen points: find the positions of both. `--file` reads a problem of "Bundle Adjustment in the Large"
(Agarwal and others, 2010); otherwise a problem is generated, and written in the same format:

- a line with the numbers of cameras, points and observations;
- a line for each observation: camera, point, x and y;
- the parameters, one in a line: nine for each camera (rotation, translation, focal length, two of distortion), three
  for each point.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse
from scipy.optimize import least_squares
from scipy.optimize._numdiff import approx_derivative, group_columns

import dualrev as dr
from examples.arguments import at_least


@njit
def residuals(p, cameras, camera, point, seen):
    """Return the residuals, two for each observation: the projected point minus the observed one."""
    made = np.empty(2 * len(camera))
    for i in range(len(camera)):
        k, j = 9 * camera[i], 9 * cameras + 3 * point[i]
        r0, r1, r2 = p[k], p[k + 1], p[k + 2]
        x0, x1, x2 = p[j], p[j + 1], p[j + 2]
        square = r0 * r0 + r1 * r1 + r2 * r2
        if square > 1e-12:  # Rodrigues' formula
            angle = math.sqrt(square)
            c, s = math.cos(angle), math.sin(angle) / angle
            d = (1.0 - c) / square
        else:
            c, s, d = 1.0 - 0.5 * square, 1.0 - square / 6.0, 0.5
        along = d * (r0 * x0 + r1 * x1 + r2 * x2)
        y0 = c * x0 + s * (r1 * x2 - r2 * x1) + along * r0 + p[k + 3]
        y1 = c * x1 + s * (r2 * x0 - r0 * x2) + along * r1 + p[k + 4]
        y2 = c * x2 + s * (r0 * x1 - r1 * x0) + along * r2 + p[k + 5]
        u, v = -y0 / y2, -y1 / y2
        q = u * u + v * v
        focal = p[k + 6] * (1.0 + q * (p[k + 7] + q * p[k + 8]))
        made[2 * i] = focal * u - seen[i, 0]
        made[2 * i + 1] = focal * v - seen[i, 1]
    return made


def made(cameras: int, points: int, path: Path, seed: int = 0) -> None:
    """Write a problem with cameras on an arc around a cloud of points, where about a third of them see each point."""
    rng = np.random.default_rng(seed)
    of = np.zeros((cameras, 9))
    of[:, 1] = np.linspace(-0.6, 0.6, cameras)
    of[:, :3] += rng.normal(0.0, 0.02, (cameras, 3))
    of[:, 5], of[:, 6] = -10.0, 500.0
    of[:, 3:6] += rng.normal(0.0, 0.1, (cameras, 3))
    of[:, 7:] = rng.normal(0.0, 1e-3, (cameras, 2))
    truth = np.concatenate([of.ravel(), rng.normal(0.0, 1.0, 3 * points)])
    camera, point = np.nonzero(rng.random((cameras, points)) < 0.35)
    seen = residuals(truth, cameras, camera, point, np.zeros((len(camera), 2))).reshape(-1, 2)
    seen += rng.normal(0.0, 0.3, seen.shape)
    start = truth + rng.normal(0.0, 1.0, truth.shape) * np.concatenate(
        [np.tile([0.01] * 3 + [0.05] * 3 + [2.0, 1e-3, 1e-3], cameras), np.full(3 * points, 0.05)]
    )
    lines = [f"{cameras} {points} {len(camera)}"]
    lines += [f"{k} {j} {x:.6e} {y:.6e}" for k, j, (x, y) in zip(camera, point, seen, strict=True)]
    path.write_text("\n".join([*lines, *(f"{x:.16e}" for x in start)]) + "\n", encoding="utf-8")


def read(path: Path) -> tuple[np.ndarray, int, np.ndarray, np.ndarray, np.ndarray]:
    """Read a problem: parameters, number of cameras, and camera, point and position of each observation.

    ValueError if the file is not in BAL's format.
    """
    try:
        words = path.read_text(encoding="utf-8").split()
        cameras, points, count = map(int, words[:3])
        table = np.array(words[3 : 3 + 4 * count], float).reshape(count, 4)
        p = np.array(words[3 + 4 * count :], float)
    except ValueError as e:
        raise ValueError(f"{path} is not an uncompressed problem in BAL's format: {e}") from e
    if len(p) != 9 * cameras + 3 * points:
        raise ValueError(f"{path} has {len(p)} parameters; {cameras} cameras, {points} points take 9 and 3 each")
    camera, point = table[:, 0].astype(int), table[:, 1].astype(int)
    if count < 1 or min(camera.min(), point.min()) < 0 or camera.max() >= cameras or point.max() >= points:
        raise ValueError(f"{path} has no observations, or some of cameras or points that do not exist")
    return p, cameras, camera, point, np.ascontiguousarray(table[:, 2:])


def pattern(p: np.ndarray, cameras: int, camera: np.ndarray, point: np.ndarray) -> sparse.csr_array:
    """Return the sparsity pattern, which SciPy needs for its differences: the unknowns of each residual."""
    columns = np.concatenate(
        [9 * camera[:, None] + np.arange(9), 9 * cameras + 3 * point[:, None] + np.arange(3)], axis=1
    )
    columns = np.repeat(columns, 2, axis=0)
    rows = np.repeat(np.arange(len(columns)), 12)
    return sparse.csr_array((np.ones(rows.size), (rows, columns.ravel())), shape=(len(columns), len(p)))


def solved(problem: tuple[Any, ...], way: str) -> tuple[Any, float]:
    """Solve by "dualrev" or "differences"; return SciPy's result, and the seconds of processor time."""
    p, *args = problem
    cameras, camera, point, _ = args
    slopes: dict[str, Any] = {"jac": dr.sparse_jacobian(residuals)}
    if way == "differences":
        slopes = {"jac_sparsity": pattern(p, cameras, camera, point)}
    before = time.process_time()
    found = least_squares(residuals, p, args=tuple(args), x_scale="jac", ftol=1e-6, tr_solver="lsmr", **slopes)
    return found, time.process_time() - before


def main(argv: Sequence[str] | None = None) -> int:
    """Solve the problem with both Jacobians, and print their errors and times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="an uncompressed problem of BAL")
    parser.add_argument("--cameras", type=at_least(2), default=40, help="cameras of a generated problem (40)")
    parser.add_argument("--points", type=at_least(10), default=1000, help="points of a generated problem (1000)")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        file = options.file or Path(folder) / "problem.txt"
        if options.file is None:
            made(options.cameras, options.points, file)
        try:
            problem = read(file)
        except (OSError, ValueError) as e:
            parser.error(str(e))
    p, cameras, camera, *_ = problem
    print(f"{2 * len(camera)} residuals, {len(p)} unknowns, {cameras} cameras")
    jacobian = dr.sparse_jacobian(residuals)
    sparsity = pattern(p, cameras, *problem[2:4])
    groups = sparsity, group_columns(sparsity)
    ways = {
        "dualrev": lambda: jacobian(*problem),
        "differences": lambda: approx_derivative(residuals, p, "2-point", sparsity=groups, args=problem[1:]),
    }
    exact = jacobian(*problem)  # compiled, and the pattern found
    print(f"{exact.nnz} entries of {exact.shape[0] * exact.shape[1]} are not zero")
    for name, way in ways.items():
        before = time.process_time()
        error = abs(way() - exact).max() / abs(exact).max()
        print(f"{name}, a Jacobian: {1e3 * (time.process_time() - before):.1f} ms, relative error {error:.0e}")
    print("| way | cost | evaluations | Jacobians | optimality | seconds |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in ways:
        found, seconds = solved(problem, name)
        print(f"| {name} | {found.cost:.6f} | {found.nfev} | {found.njev} | {found.optimality:.1e} | {seconds:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
