"""Fly to Mars with a weak engine, among five planets: `python -m examples.transfer`.

The sun and the planets attract each other and the spacecraft; a symplectic integrator (drift, kick, drift) takes one
step a day. The unknowns are the engine's thrust on every day, three numbers each. Find the thrust of least energy after
which the craft is next to Mars and has Mars's velocity: six equations. A step of Newton's method needs their 6 x 3n
Jacobian, which takes six reverse passes through a flight of n days. The table compares dualrev with JAX and
differences.

The planets start at their positions at noon on 1 January 2000, from the elements of E. M. Standish, "Keplerian elements
for approximate positions of the major planets" (JPL). Distances are in astronomical units, times in days.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numba import njit
from scipy.optimize._numdiff import approx_derivative

import dualrev as dr
from examples.arguments import picture, positive
from examples.timing import timed

SUN = 0.01720209895**2  # Gauss: the mass of the sun times the constant of gravitation
#: Mass of the sun over that of the planet, half axis, eccentricity; in degrees inclination, mean longitude, longitude
#: of the perihelion, and of the ascending node.
PLANETS = {
    "Venus": (408523.71, 0.72333566, 0.00677672, 3.39467605, 181.97909950, 131.60246718, 76.67984255),
    "Earth": (328900.56, 1.00000261, 0.01671123, -0.00001531, 100.46457166, 102.93768193, 0.0),
    "Mars": (3098708.0, 1.52371034, 0.09339410, 1.84969142, -4.55343205, -23.94362959, 49.55953891),
    "Jupiter": (1047.3486, 5.20288700, 0.04838624, 1.30439695, 34.39644051, 14.72847983, 100.47390909),
    "Saturn": (3497.898, 9.53667594, 0.05386179, 2.48599187, 49.95424423, 92.59887831, 113.66242448),
}
EARTH, MARS = 2, 3  # of the bodies: the sun is the first
WAIT = 462  # days to 7 April 2001, a date when Mars is well placed
CLEAR = 0.01  # distance from a planet at start and end, where the sun's pull is stronger than the planet's
DAYS = 360
KM_PER_S, MM_PER_S2 = 1.495978707e8 / 86400.0, 1.495978707e14 / 86400.0**2


@njit
def flown(push, places, speeds, masses, step):
    """Compute positions and velocities of all bodies after the flight; the last body has the engine."""
    x, v = places.copy(), speeds.copy()
    n = len(x)
    for day in range(len(push)):
        for i in range(n):
            for c in range(3):
                x[i, c] += 0.5 * step * v[i, c]
        for i in range(n):
            for j in range(i):
                d0, d1, d2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                square = d0 * d0 + d1 * d1 + d2 * d2
                pull = step / (square * math.sqrt(square))
                on_i, on_j = masses[j] * pull, masses[i] * pull
                v[i, 0] += on_i * d0
                v[i, 1] += on_i * d1
                v[i, 2] += on_i * d2
                v[j, 0] -= on_j * d0
                v[j, 1] -= on_j * d1
                v[j, 2] -= on_j * d2
        for c in range(3):
            v[n - 1, c] += step * push[day, c]
        for i in range(n):
            for c in range(3):
                x[i, c] += 0.5 * step * v[i, c]
    return x, v


@njit
def miss(push, places, speeds, masses, step):
    """Compute the craft's miss of its target next to Mars: three distances, three velocities in units of Earth's."""
    x, v = flown(push, places, speeds, masses, step)
    outwards = CLEAR / math.sqrt(np.sum((x[MARS] - x[0]) ** 2))
    made = np.empty(6)
    for c in range(3):
        made[c] = x[-1, c] - x[MARS, c] - outwards * (x[MARS, c] - x[0, c])
        made[c + 3] = (v[-1, c] - v[MARS, c]) / math.sqrt(SUN)
    return made


def state(elements: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Compute the position and velocity of a planet."""
    _, a, e, *degrees = elements
    inclination, longitude, perihelion, node = np.radians(degrees)
    mean = longitude - perihelion
    anomaly = mean
    for _ in range(20):  # Kepler's equation, by Newton's method
        anomaly -= (anomaly - e * math.sin(anomaly) - mean) / (1.0 - e * math.cos(anomaly))
    flat = math.sqrt(1.0 - e * e)
    rate = math.sqrt(SUN / a) / (1.0 - e * math.cos(anomaly))
    place = a * np.array([math.cos(anomaly) - e, flat * math.sin(anomaly), 0.0])
    speed = rate * np.array([-math.sin(anomaly), flat * math.cos(anomaly), 0.0])

    def turned(angle: float, i: int, j: int) -> np.ndarray:
        """Matrix of a rotation in the plane of the axes i and j."""
        m = np.eye(3)
        m[i, i] = m[j, j] = math.cos(angle)
        m[j, i] = math.sin(angle)
        m[i, j] = -m[j, i]
        return m

    turn = turned(node, 0, 1) @ turned(inclination, 1, 2) @ turned(perihelion - node, 0, 1)
    return turn @ place, turn @ speed


def departure() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions, velocities and masses of sun, planets and craft, which starts near Earth, at its velocity."""
    states = [(np.zeros(3), np.zeros(3)), *(state(elements) for elements in PLANETS.values())]
    x, v = (np.array(column) for column in zip(*states, strict=True))
    masses = SUN * np.array([1.0, *(1.0 / elements[0] for elements in PLANETS.values())])
    x, v = flown(np.zeros((WAIT, 3)), x, v, masses, 1.0)
    outwards = x[EARTH] - x[0]
    beside = x[EARTH] + outwards * (CLEAR / np.linalg.norm(outwards))
    return np.vstack([x, beside]), np.vstack([v, v[EARTH]]), np.append(masses, 0.0)


def least_energy(jacobian: Callable[..., Any], days: int, data: tuple[Any, ...]) -> tuple[np.ndarray, int]:
    """Find the thrust by Newton's method; return it and the number of steps. ValueError if the steps do not converge.

    Each step takes the smallest thrust that solves the linearised equations. The first steps aim at a part of the
    distance only, since the equations are far from linear there.
    """
    push, moved = np.zeros((days, 3)), math.inf
    for taken in range(60):
        missed = miss(push, *data)
        if moved < 1e-8 and np.max(np.abs(missed)) < 1e-10:
            return push, taken
        slope = np.asarray(jacobian(push, *data)).reshape(6, -1)
        part = min(1.0, 0.25 * (taken + 1))
        new = np.linalg.lstsq(slope, slope @ push.ravel() - part * missed, rcond=None)[0].reshape(days, 3)
        push, moved = new, np.max(np.abs(new - push)) / np.max(np.abs(new))
    raise ValueError(f"no flight of {days} days was found: take another number of --days, such as {DAYS}")


def by_differences(push: np.ndarray, *data: Any) -> np.ndarray:
    """Compute the Jacobian by differences, as SciPy's solvers do: one flight for each unknown."""
    slope = approx_derivative(lambda vector: miss(vector.reshape(-1, 3), *data), push.ravel(), "2-point")
    return np.asarray(slope).reshape(6, -1, 3)


def by_jax() -> Callable[..., Any]:
    """Return JAX's Jacobian of the same flight, with arrays and a scan over the days."""
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def missed(push: Any, places: Any, speeds: Any, masses: Any, step: float) -> Any:
        """The six numbers of `miss`, in JAX."""

        def day(state: Any, pushed: Any) -> Any:
            """Advance all bodies by one day."""
            x, v = state
            x = x + 0.5 * step * v
            apart = x[None, :, :] - x[:, None, :]
            square = jnp.sum(apart**2, axis=2) + jnp.eye(len(masses))
            v = v + step * jnp.einsum("j,ijc->ic", masses, apart / (square * jnp.sqrt(square))[:, :, None])
            v = v.at[-1].add(step * pushed)
            return (x + 0.5 * step * v, v), None

        x, v = jax.lax.scan(day, (places, speeds), push)[0]
        outwards = x[MARS] - x[0]
        end = x[MARS] + outwards * (CLEAR / jnp.linalg.norm(outwards))
        return jnp.concatenate([x[-1] - end, (v[-1] - v[MARS]) / math.sqrt(SUN)])

    return jax.jit(jax.jacrev(missed))


def path(push: np.ndarray, data: tuple[Any, ...]) -> np.ndarray:
    """Compute the positions of all bodies after each day, relative to the sun."""
    x, v, *rest = data
    seen = [x - x[0]]
    for day in range(len(push)):
        x, v = flown(push[day : day + 1], x, v, *rest)
        seen.append(x - x[0])
    return np.array(seen)


def draw(push: np.ndarray, data: tuple[Any, ...], file: str) -> None:
    """Draw the flight from above with the thrust of every twelfth day, and the thrust's strength."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    seen = path(push, data)
    figure, (above, beside) = plt.subplots(1, 2, figsize=(8.0, 3.8), layout="constrained")
    for body, name, color in ((EARTH, "Earth", "C0"), (MARS, "Mars", "C3"), (-1, "craft", "0.2")):
        above.plot(seen[:, body, 0], seen[:, body, 1], color=color, label=name)
        above.plot(*seen[-1, body, :2], "o", color=color, markersize=4)
    above.plot(0.0, 0.0, "*", color="C1", markersize=10)
    some = slice(0, len(push), 12)
    above.quiver(seen[some, -1, 0], seen[some, -1, 1], push[some, 0], push[some, 1], color="0.5", width=0.004)
    above.set_aspect("equal")
    above.legend(loc="upper left", fontsize="small")
    beside.plot(np.linalg.norm(push, axis=1) * MM_PER_S2)
    beside.set_xlabel("day")
    beside.set_ylabel("push, mm/s\u00b2")
    figure.savefig(file, dpi=110)


def main(argv: Sequence[str] | None = None) -> int:
    """Find the flight with each Jacobian, and print times and results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=positive, default=DAYS, help=f"days of the flight ({DAYS})")
    parser.add_argument("--picture", type=picture, metavar="FILE", help="draw the flight and the thrust")
    options = parser.parse_args(argv)
    data = (*departure(), 1.0)
    ways: dict[str, Callable[..., Any]] = {"dualrev": dr.jacobian(miss)}
    ways |= {"JAX": by_jax()} if find_spec("jax") else {}
    ways |= {"differences": by_differences}
    still = np.zeros((options.days, 3))
    firsts = {name: timed(partial(way, still, *data))[1] for name, way in ways.items()}
    try:
        push, taken = least_energy(ways["dualrev"], options.days, data)
    except ValueError as e:
        parser.error(str(e))
    print(f"{options.days} days, {push.size} unknowns, {taken} steps of Newton's method")
    strength = np.linalg.norm(push, axis=1)
    print(
        f"speed to make: {np.sum(strength) * KM_PER_S:.3f} km/s; push: {strength.max() * MM_PER_S2:.3f} mm/s2 at most"
    )
    print(f"one flight: {1e3 * timed(lambda: [miss(push, *data) for _ in range(100)])[2] / 100:.3f} ms")
    print("| way | first Jacobian s | Jacobian ms | differs by | steps | all of them s | energy |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    exact = ways["dualrev"](push, *data)
    for name, way in ways.items():
        slope = partial(way, push, *data)
        error = np.max(np.abs(np.asarray(slope()) - exact)) / np.max(np.abs(exact))
        each = timed(lambda: [np.asarray(slope()) for _ in range(10)])[2] / 10  # noqa: B023
        (found, count), _, whole = timed(partial(least_energy, way, options.days, data))
        cells = f"{firsts[name]:.2f}", f"{1e3 * each:.2f}", f"{error:.0e}", f"{count}", f"{whole:.3f}"
        print(f"| {name} | " + " | ".join(cells) + f" | {np.sum(found**2):.10e} |")
    if options.picture:
        draw(push, data, options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
