"""Physics: oscillators, bodies, neurons, populations, rays, lattices."""

from itertools import pairwise

import numpy as np

from dualrev import math
from dualrev import numpy as dnp
from programs.corpus.case import case


@case(1.0, 0.5, 0.3, 2.0)
def damped_oscillator(x, v, damping, stiffness):
    """A spring that is stiffer on one side: a branch in every step."""
    for _ in range(20):
        force = -stiffness * x if x > 0 else -2 * stiffness * x
        v += 0.05 * (force - damping * v)
        x += 0.05 * v
    return x, v


@case(0.9, 0.1, 1.2)
def pendulum(angle, speed, length):
    """A pendulum by the semi-implicit Euler method, and the largest angle on the way."""
    path = [angle]
    for _ in range(12):
        speed -= 0.1 * 9.81 / length * math.sin(angle)
        angle += 0.1 * speed
        path.append(angle)
    return max(path) + path[-1] ** 2


@case([1.0, 2.0, 0.5], [[0.0, 0.0], [1.5, 0.2], [-0.4, 1.3]], [[0.1, 0.0], [0.0, 0.3], [-0.2, 0.1]])
def n_body(masses, positions, velocities):
    """Three bodies in the plane, with lists that are changed in place."""
    xs, vs = [list(p) for p in positions], [list(v) for v in velocities]
    for _ in range(3):
        for i, x in enumerate(xs):
            for j, y in enumerate(xs):
                if i != j:
                    cube = ((x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2 + 0.1) ** 1.5
                    for k in range(2):
                        vs[i][k] += 0.1 * masses[j] * (y[k] - x[k]) / cube
        for x, v in zip(xs, vs, strict=True):
            for k in range(2):
                x[k] += 0.1 * v[k]
    return xs


@case(np.array([[0.0, 0.1], [1.1, 0.2], [-0.4, 1.3]]), np.array([1.0, 2.0, 0.5]))
def gravity_vectorised(positions, masses):
    """The accelerations of all bodies at once, with a masked diagonal."""
    gaps = positions[None] - positions[:, None]
    squares = (gaps**2).sum(axis=-1) + np.eye(len(masses))
    return (gaps * (masses / squares**1.5)[..., None]).sum(axis=1)


@case((0.6, 1.1, 0.2, -0.1), 1.0, 0.7)
def double_pendulum(state, m1, m2):
    """Two pendula on each other: some Euler steps on a tuple."""
    a, b, u, v = state
    for _ in range(6):
        d = a - b
        low = 2 * m1 + m2 - m2 * math.cos(2 * d)
        du = -9.81 * (2 * m1 + m2) * math.sin(a) - m2 * 9.81 * math.sin(a - 2 * b)
        du -= 2 * math.sin(d) * m2 * (v * v + u * u * math.cos(d))
        dv = 2 * math.sin(d) * (u * u * (m1 + m2) + 9.81 * (m1 + m2) * math.cos(a) + v * v * m2 * math.cos(d))
        a, b, u, v = a + 0.02 * u, b + 0.02 * v, u + 0.02 * du / low, v + 0.02 * dv / low
    return a, b, u, v


@case(10.0, {"na": 120.0, "k": 36.0, "leak": 0.3})
def hodgkin_huxley(current, conductance):
    """The membrane of a neuron with three gates, some steps of 0.01 ms."""
    v, m, h, n = -60.0, 0.1, 0.5, 0.35
    for _ in range(10):
        m += 0.01 * (0.1 * (v + 40) / (1 - math.exp(-(v + 40) / 10)) * (1 - m) - 4 * math.exp(-(v + 65) / 18) * m)
        h += 0.01 * (0.07 * math.exp(-(v + 65) / 20) * (1 - h) - h / (1 + math.exp(-(v + 35) / 10)))
        n += 0.01 * (0.01 * (v + 55) / (1 - math.exp(-(v + 55) / 10)) * (1 - n) - 0.125 * math.exp(-(v + 65) / 80) * n)
        ions = conductance["na"] * m**3 * h * (v - 50) + conductance["k"] * n**4 * (v + 77)
        v += 0.01 * (current - ions - conductance["leak"] * (v + 54.4))
    return v, n


@case(0.04, 8.0, 180.0, 6)
def izhikevich_neuron(a, d, current, steps):
    """A spiking neuron that is reset when it fires."""
    v, u, spikes = -65.0, -13.0, 0
    for _ in range(steps):
        if v >= 30.0:
            v, u, spikes = -65.0, u + d, spikes + 1
        v, u = v + 0.3 * (0.04 * v * v + 5 * v + 140 - u + current), u + 0.3 * a * (0.2 * v - u)
    return u + spikes


@case(20.0, 0.8, 0.02)
def projectile_with_drag(speed, angle, drag):
    """The range of a throw: a while loop until the ground, and the last step cut where it meets it."""
    x, y, vx, vy = 0.0, 0.0, speed * math.cos(angle), speed * math.sin(angle)
    h = 0.5
    while True:
        size = math.hypot(vx, vy)
        vx, vy = vx - h * drag * size * vx, vy - h * (9.81 + drag * size * vy)
        if y + h * vy < 0:
            return x - y / vy * vx
        x, y = x + h * vx, y + h * vy


@case(np.array([1.5, 0.8]), np.array([[1.1, 0.4], [0.4, 0.3]]), 8)
def lotka_volterra(population, rates, steps):
    """Prey and predators as an array, by Heun's method."""

    def f(p):
        meet = p[0] * p[1]
        return np.array([rates[0, 0] * p[0] - rates[0, 1] * meet, rates[1, 0] * meet - rates[1, 1] * p[1]])

    for _ in range(steps):
        k = f(population)
        population = population + 0.05 * (k + f(population + 0.1 * k))
    return population


@case(
    np.array([0.0, 0.1, -3.0]),
    np.array([0.1, -0.05, 1.0]),
    [(np.array([0.2, 0.0, 1.0]), 1.2), (np.array([0.0, 3.0, -4.0]), 1.5)],
)
def ray_reflections(origin, direction, spheres):
    """A ray that bounces between spheres; a miss ends it."""
    for _ in range(2):
        direction = direction / np.sqrt(direction @ direction)
        hits = []
        for centre, radius in spheres:
            b = (centre - origin) @ direction
            disc = b**2 - (centre - origin) @ (centre - origin) + radius**2
            if disc > 0 and b - np.sqrt(disc) > 1e-3:
                hits.append((b - np.sqrt(disc), centre))
        if not hits:
            break
        distance, centre = min(hits, key=lambda hit: hit[0])
        origin = origin + distance * direction
        normal = (origin - centre) / np.linalg.norm(origin - centre)
        direction = direction - 2 * (direction @ normal) * normal
    return origin, direction


@case({"a": (0.0, 0.0), "b": (1.2, 0.1), "c": (0.5, 1.0)}, [("a", "b", 1.0), ("b", "c", 0.8), ("a", "c", 1.5)], 3.0)
def spring_network(nodes, springs, stiffness):
    """The energy of a network of springs between named points."""
    energy = 0.0
    for one, other, rest in springs:
        (x1, y1), (x2, y2) = nodes[one], nodes[other]
        energy += stiffness / 2 * (math.hypot(x1 - x2, y1 - y2) - rest) ** 2
    return energy + sum(y for _, y in nodes.values())


@case(np.array([[0.0, 0.0, 0.1], [1.2, 0.1, 0.0], [0.4, 1.1, 0.2]]), 0.5, 0.9)
def lennard_jones(positions, depth, sigma):
    """The energy of atoms, over pairs of indices of a triangle."""
    i, j = np.triu_indices(len(positions), 1)
    squares = ((positions[i] - positions[j]) ** 2).sum(axis=1)
    sixth = (sigma**2 / squares) ** 3
    return 4 * depth * (sixth**2 - sixth).sum()


@case(0.3, 1.8, 4)
def ising_mean_field(field, temperature, neighbours):
    """The magnetisation at which it agrees with its mean field, by iteration."""
    m, change = 0.9, 1.0
    while abs(change) > 1e-14:
        change = math.tanh((field + neighbours * 0.3 * m) / temperature) - m
        m += change
    return m


@case((10.0, 5.0), (0.2, -0.1), 1.5, 6)
def pursuit(prey, velocity, speed, steps):
    """A predator runs towards where its prey is now."""
    x, y = 0.0, 0.0
    px, py = prey
    for _ in range(steps):
        px, py = px + velocity[0], py + velocity[1]
        distance = math.hypot(px - x, py - y)
        x, y = x + speed * (px - x) / distance, y + speed * (py - y) / distance
    return math.hypot(px - x, py - y)


@case(np.array([0.0, 0.3, 0.8, 0.3, 0.1]), 0.6, 6)
def wave_equation(shape, courant, steps):
    """A string: two old time steps give the next one, in slices."""
    old, now = shape, shape.copy()
    for _ in range(steps):
        new = dnp.zeros(len(shape))
        new[1:-1] = 2 * now[1:-1] - old[1:-1] + courant**2 * (now[2:] - 2 * now[1:-1] + now[:-2])
        old, now = now, new
    return now


@case(1.5, 0.6, 1.33)
def snell_and_fresnel(thickness, angle, index):
    """Refraction at a pane of glass: how far the ray is shifted, and how much of it is reflected."""
    inside = math.asin(math.sin(angle) / index)
    shift = thickness * math.sin(angle - inside) / math.cos(inside)
    amplitude = (math.cos(angle) - index * math.cos(inside)) / (math.cos(angle) + index * math.cos(inside))
    return {"shift": shift, "reflected": amplitude**2}


@case([300.0, 350.0, 280.0], [2.0, 0.5, 1.0], 0.3)
def heat_exchange(temperatures, capacities, conductance):
    """Bodies in a row exchange heat and radiate."""
    t = list(temperatures)
    for _ in range(5):
        flows = [conductance * (a - b) for a, b in pairwise(t)]
        for k, flow in enumerate(flows):
            t[k] -= flow / capacities[k]
            t[k + 1] += flow / capacities[k + 1]
        t = [x - 1e-9 * x**4 / c for x, c in zip(t, capacities, strict=True)]
    return t


@case(0.88, 0.25, 0.02, 6)
def epidemic(susceptible, rate, infected, lockdown):
    """Susceptible, infected, recovered: contacts are fewer from some day on."""
    recovered = 0.0
    for day in range(12):
        contacts = 4 if day < lockdown else 1.5
        new, healed = rate * contacts * susceptible * infected, 0.2 * infected
        susceptible, infected, recovered = susceptible - new, infected + new - healed, recovered + healed
    return {"day": day, "infected": infected, "recovered": recovered}
