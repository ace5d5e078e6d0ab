"""Programs with long first calls, from mechanics, optics and astronomy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from bench.programs.first_call_program import Program, table

__all__ = ["SKY"]


# ----------------------------------------------------------------------------------------------------------------------
# A gravitational lens of several planes


@njit
def turned(x, y, angle):
    """Return the coordinates in a frame that is turned by an angle."""
    c, s = math.cos(angle), math.sin(angle)
    return c * x + s * y, c * y - s * x


@njit
def ellipsoid(x, y, lens):
    """Return the deflection by a singular isothermal ellipsoid: strength, centre, axis ratio, angle and core."""
    strength, cx, cy, q, angle, core = lens
    u, v = turned(x - cx, y - cy, angle)
    f = math.sqrt(1.0 - q * q)
    psi = math.sqrt(q * q * (core * core + u * u) + v * v)
    au = strength * q / f * math.atan(f * u / (psi + core))
    av = strength * q / f * math.atanh(f * v / (psi + q * q * core))
    return turned(au, av, -angle)


@njit
def shear(x, y, gamma1, gamma2):
    """Return the deflection by an external shear."""
    return gamma1 * x + gamma2 * y, gamma2 * x - gamma1 * y


@njit
def traced(x, y, lenses, distances, gamma1, gamma2):
    """Return where a ray from the image position (x, y) meets the plane of the source."""
    planes = len(distances)
    px, py = np.empty(planes), np.empty(planes)
    bx, by = x, y
    for k in range(planes):
        px[k], py[k] = x, y
        for j in range(k):
            weight = (distances[k] - distances[j]) / distances[k]
            lens = (lenses[j, 0], lenses[j, 1], lenses[j, 2], lenses[j, 3], lenses[j, 4], lenses[j, 5])
            ax, ay = ellipsoid(px[j], py[j], lens)
            px[k] -= weight * ax
            py[k] -= weight * ay
        bx, by = px[k], py[k]
    sx, sy = shear(x, y, gamma1, gamma2)
    return bx - sx, by - sy


@njit
def lensing(lenses, p, images, distances):
    """Return the chi square of image positions and fluxes. p has the source, the shear and the source's width."""
    total = 0.0
    for k in range(len(images)):
        x, y, flux = images[k]
        bx, by = traced(x, y, lenses, distances, p[2], p[3])
        dx, dy = bx - p[0], by - p[1]
        total += (dx * dx + dy * dy) / 0.05**2
        light = math.exp(-0.5 * (dx * dx + dy * dy) / p[4] ** 2)
        total += (light - flux) ** 2 / 0.1**2
    return 0.5 * total


def make_lensing() -> tuple[Any, ...]:
    """Return two lenses of six parameters, the source and the shear, 12 images and three distances."""
    lenses = np.array([[1.1, 0.02, -0.03, 0.8, 0.4, 0.05], [0.3, 0.4, 0.2, 0.7, 1.1, 0.08]])
    angle = np.linspace(0.0, 6.0, 12)
    images = np.column_stack((1.2 * np.cos(angle), 1.1 * np.sin(angle), 0.3 + 0.2 * np.cos(3.0 * angle)))
    return lenses, np.array([0.05, -0.04, 0.03, 0.02, 0.4]), images, np.array([0.4, 0.7, 1.0])


# ----------------------------------------------------------------------------------------------------------------------
# Planets


@njit
def pull(a, b, mass, soft):
    """Return the acceleration of a body at `a` by a mass at `b`."""
    x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    r2 = x * x + y * y + z * z + soft * soft
    s = mass / (r2 * math.sqrt(r2))
    return s * x, s * y, s * z


@njit
def three_bodies(start, masses, steps, dt):
    """Return the distance of the first two bodies and the energy, for three bodies whose state is a tuple."""
    place = [(start[k, 0], start[k, 1], start[k, 2]) for k in range(3)]
    speed = [(start[k, 3], start[k, 4], start[k, 5]) for k in range(3)]
    for _ in range(steps):
        for i in range(3):
            ax, ay, az = 0.0, 0.0, 0.0
            for j in range(3):
                if i != j:
                    gx, gy, gz = pull(place[i], place[j], masses[j], 0.05)
                    ax, ay, az = ax + gx, ay + gy, az + gz
            u = speed[i]
            speed[i] = (u[0] + dt * ax, u[1] + dt * ay, u[2] + dt * az)
        for i in range(3):
            a, u = place[i], speed[i]
            place[i] = (a[0] + dt * u[0], a[1] + dt * u[1], a[2] + dt * u[2])
    energy = 0.0
    for i in range(3):
        u, v, w = speed[i]
        energy += 0.5 * masses[i] * (u * u + v * v + w * w)
    (xa, ya, za), (xb, yb, zb) = place[0], place[1]
    return math.sqrt((xa - xb) ** 2 + (ya - yb) ** 2 + (za - zb) ** 2) + energy


def make_three_bodies() -> tuple[Any, ...]:
    """Return positions and speeds of three bodies, their masses, and 200 steps."""
    start = np.array(
        [[0.0, 0.0, 0.0, 0.0, 0.0, 0.01], [1.0, 0.0, 0.1, 0.0, 0.9, 0.0], [-2.1, 0.2, 0.0, 0.05, -0.6, 0.1]]
    )
    return start, np.array([1.0, 0.03, 0.01]), 200, 0.01


# ----------------------------------------------------------------------------------------------------------------------
# Orbits


@njit
def eccentric_anomaly(mean, e):
    """Return the solution of Kepler's equation by Newton's iteration."""
    wrapped = mean - 2.0 * math.pi * math.floor(mean / (2.0 * math.pi) + 0.5)
    guess = wrapped + 0.85 * e if wrapped > 0.0 else wrapped - 0.85 * e
    for _ in range(30):
        step = (guess - e * math.sin(guess) - wrapped) / (1.0 - e * math.cos(guess))
        guess -= step
        if abs(step) < 1e-14:
            break
    return guess


@njit
def orbital_state(elements, t, mu):
    """Return position and velocity from the elements: a, e, inclination, node, pericentre, mean anomaly at zero."""
    a, e, inclination, node, pericentre, anomaly = elements
    n = math.sqrt(mu / a**3)
    big = eccentric_anomaly(anomaly + n * t, e)
    ce, se = math.cos(big), math.sin(big)
    root = math.sqrt(1.0 - e * e)
    r = a * (1.0 - e * ce)
    px, py = a * (ce - e), a * root * se
    vx, vy = -n * a * a * se / r, n * a * a * root * ce / r
    cn, sn = math.cos(node), math.sin(node)
    ci, si = math.cos(inclination), math.sin(inclination)
    cw, sw = math.cos(pericentre), math.sin(pericentre)
    xx, xy = cn * cw - sn * sw * ci, -cn * sw - sn * cw * ci
    yx, yy = sn * cw + cn * sw * ci, -sn * sw + cn * cw * ci
    zx, zy = sw * si, cw * si
    return (
        (xx * px + xy * py, yx * px + yy * py, zx * px + zy * py),
        (xx * vx + xy * vy, yx * vx + yy * vy, zx * vx + zy * vy),
    )


@njit
def orbit_fit(elements, mu, times, angles, speeds):
    """Return the chi square of right ascension, declination and radial velocity, with the light's travel time."""
    total = 0.0
    for k in range(len(times)):
        late = 0.0
        place, velocity = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        x, y, z, r = 0.0, 0.0, 0.0, 1.0
        orbit = (elements[0], elements[1], elements[2], elements[3], elements[4], elements[5])
        for _ in range(2):
            place, velocity = orbital_state(orbit, times[k] - late, mu)
            x, y, z = place[0] + math.cos(0.7 * times[k]), place[1] + math.sin(0.7 * times[k]), place[2]
            r = math.sqrt(x * x + y * y + z * z)
            late = 0.01 * r
        turn = math.atan2(y, x) - angles[k, 0]
        turn -= 2.0 * math.pi * round(turn / (2.0 * math.pi))
        total += (turn / 0.05) ** 2 + ((math.asin(z / r) - angles[k, 1]) / 0.05) ** 2
        radial = (x * velocity[0] + y * velocity[1] + z * velocity[2]) / r
        total += ((radial - speeds[k]) / 0.1) ** 2
    return 0.5 * total


def make_orbit() -> tuple[Any, ...]:
    """Return six elements, and 30 observations."""
    times = np.linspace(0.0, 12.0, 30)
    angles = np.column_stack((0.9 * times % 6.0 - 3.0, 0.2 * np.sin(times)))
    return np.array([2.3, 0.35, 0.2, 1.1, 0.7, 0.3]), 1.0, times, angles, 0.3 * np.cos(times)


# ----------------------------------------------------------------------------------------------------------------------
# Light scattered by a sphere


@njit
def mie_series(radius, wavelength, index, absorption, cosines):
    """Return efficiencies of extinction and scattering, the asymmetry, and the intensity at angles: a Mie series."""
    x = 2.0 * math.pi * radius / wavelength
    m = complex(index, -absorption)
    mx = m * x
    terms = int(x + 4.0 * x ** (1.0 / 3.0) + 2.0)
    last = max(terms, int(abs(mx))) + 16
    # the logarithmic derivative, downward
    d = np.zeros(last + 1, np.complex128)
    for n in range(last, 0, -1):
        d[n - 1] = n / mx - 1.0 / (d[n] + n / mx)
    # Riccati and Bessel's functions, upward
    psi0, psi1 = math.cos(x), math.sin(x)
    chi0, chi1 = -math.sin(x), math.cos(x)
    count = len(cosines)
    s1, s2 = np.zeros(count, np.complex128), np.zeros(count, np.complex128)
    pi0, pi1 = np.zeros(count), np.ones(count)
    a_before, b_before = 0j, 0j
    extinction, scattering, asymmetry = 0.0, 0.0, 0.0
    for n in range(1, terms + 1):
        psi = (2 * n - 1) * psi1 / x - psi0
        chi = (2 * n - 1) * chi1 / x - chi0
        xi, xi1 = complex(psi, -chi), complex(psi1, -chi1)
        left = d[n] / m + n / x
        a = (left * psi - psi1) / (left * xi - xi1)
        right = m * d[n] + n / x
        b = (right * psi - psi1) / (right * xi - xi1)
        weight = 2.0 * n + 1.0
        extinction += weight * (a.real + b.real)
        scattering += weight * (a.real**2 + a.imag**2 + b.real**2 + b.imag**2)
        asymmetry += weight / (n * (n + 1.0)) * (a * b.conjugate()).real
        if n > 1:
            both = a_before * a.conjugate() + b_before * b.conjugate()
            asymmetry += (n - 1.0) * (n + 1.0) / n * both.real
        share = weight / (n * (n + 1.0))
        for k in range(count):
            tau = n * cosines[k] * pi1[k] - (n + 1.0) * pi0[k]
            s1[k] += share * (a * pi1[k] + b * tau)
            s2[k] += share * (a * tau + b * pi1[k])
            following = ((2 * n + 1) * cosines[k] * pi1[k] - (n + 1) * pi0[k]) / n
            pi0[k], pi1[k] = pi1[k], following
        psi0, psi1, chi0, chi1 = psi1, psi, chi1, chi
        a_before, b_before = a, b
    intensity = np.empty(count)
    for k in range(count):
        intensity[k] = 0.5 * (abs(s1[k]) ** 2 + abs(s2[k]) ** 2)
    q = 2.0 / (x * x)
    return q * extinction, q * scattering, 2.0 * q * asymmetry / (q * scattering), intensity


@njit
def mie(p, radii, cosines, phase, wavelength):
    """Return the misfit of the phase function of a cloud of spheres with a lognormal distribution of radii."""
    total, norm, dimming = np.zeros(len(cosines)), 0.0, 0.0
    for k in range(len(radii)):
        z = (math.log(radii[k]) - p[2]) / p[3]
        weight = math.exp(-0.5 * z * z)
        extinction, scattering, g, intensity = mie_series(radii[k], wavelength, p[0], p[1], cosines)
        total += weight * intensity
        norm += weight * scattering * radii[k] ** 2
        dimming += weight * extinction * radii[k] ** 2 * (1.0 - 0.1 * g)
    misfit = 0.0
    for k in range(len(cosines)):
        misfit += (math.log(total[k] / norm) - phase[k]) ** 2
    return misfit + (norm / dimming - 0.95) ** 2


def make_mie() -> tuple[Any, ...]:
    """Return refractive index, absorption, two parameters of the radii, 12 radii and 19 angles."""
    cosines = np.cos(np.linspace(0.0, math.pi, 19))
    return np.array([1.45, 0.01, 0.0, 0.4]), np.linspace(0.4, 2.5, 12), cosines, 1.0 + cosines, 1.1


# ----------------------------------------------------------------------------------------------------------------------
# A robot's arm


@njit
def cross(a, b):
    """Return the cross product."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@njit
def joint_rotation(angle, twist):
    """Return the rotation of a link with respect to the one before, by Denavit and Hartenberg's convention."""
    c, s, ct, st = math.cos(angle), math.sin(angle), math.cos(twist), math.sin(twist)
    return np.array([[c, -s * ct, s * st], [s, c * ct, -c * st], [0.0, st, ct]])


@njit
def newton_euler(q, speed, pushed, twists, lengths, masses, inertias):
    """Return the torques of the joints of an arm, by the recursive method of Newton and Euler."""
    n = len(q)
    turn = np.zeros((n, 3, 3))
    force, moment = np.zeros((n, 3)), np.zeros((n, 3))
    w, dw, acceleration = np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 9.81])
    z = np.array([0.0, 0.0, 1.0])
    for i in range(n):
        turn[i] = joint_rotation(q[i], twists[i])
        back = turn[i].T
        dw = back @ (dw + pushed[i] * z + speed[i] * cross(w, z))
        w = back @ (w + speed[i] * z)
        arm = np.array([lengths[i], 0.0, 0.0])
        acceleration = back @ acceleration + cross(dw, arm) + cross(w, cross(w, arm))
        centre = acceleration - 0.5 * (cross(dw, arm) + cross(w, cross(w, arm)))
        spin = inertias[i] * w
        force[i] = masses[i] * centre
        moment[i] = inertias[i] * dw + cross(w, spin)
    torque = np.zeros(n)
    f, m = np.zeros(3), np.zeros(3)
    for i in range(n - 1, -1, -1):
        arm = np.array([lengths[i], 0.0, 0.0])
        if i < n - 1:
            f, m = turn[i + 1] @ f, turn[i + 1] @ m
        m = m + moment[i] + cross(arm, f) + cross(0.5 * arm, force[i])
        f = f + force[i]
        torque[i] = turn[i, 2] @ m
    return torque


@njit
def robot_arm(lengths, masses, inertias, twists, path, torques, dt):
    """Return the misfit of the torques along a recorded path of the joints."""
    total = 0.0
    for t in range(1, len(path) - 1):
        speed = (path[t + 1] - path[t - 1]) / (2.0 * dt)
        pushed = (path[t + 1] - 2.0 * path[t] + path[t - 1]) / (dt * dt)
        error = newton_euler(path[t], speed, pushed, twists, lengths, masses, inertias) - torques[t]
        total += error @ error
    return total / len(path)


def make_robot_arm() -> tuple[Any, ...]:
    """Return lengths, masses and inertias of six links, their twists, and a path of 40 steps."""
    t, k = np.arange(40.0)[:, None] * 0.05, np.arange(6.0)
    twists = np.array([1.57, 0.0, 1.57, -1.57, 1.57, 0.0])
    inertias = 0.02 + 0.01 * np.cos(np.arange(18.0)).reshape(6, 3)
    return 0.4 - 0.05 * k, 5.0 - 0.6 * k, inertias, twists, np.sin(t + k), 5.0 * np.cos(t + k), 0.05


SKY = table(
    Program(lensing, make_lensing, (0, 1)),
    Program(three_bodies, make_three_bodies, (0, 1)),
    Program(orbit_fit, make_orbit, (0, 1)),
    Program(mie, make_mie),
    Program(robot_arm, make_robot_arm, (0, 1, 2)),
)
