"""Hand tracking: the distances of measured points from a hand in the pose theta, and their Jacobian.

A hand is a skeleton of bones that carry the vertices of a surface. A point belongs to a vertex (if `us` is empty), or
to a position u in a triangle, which is then an unknown, too. An error depends on the pose, and on the u of its own
point only. So two columns of the Jacobian are enough for all u: the derivatives with respect to a shift of all u.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

import dualrev as dr
from bench.gradbench.function import Function, InputError, field, listed, reals, wholes

__all__ = ["FUNCTIONS"]

PARAMETERS, FINGERS, BONES = 26, 5, 22


@njit
def turn(x, y, z, made):
    """Write the matrix of three rotations to `made`: about the first axis by x, then by y, then by z."""
    cx, sx, cy, sy, cz, sz = math.cos(x), math.sin(x), math.cos(y), math.sin(y), math.cos(z), math.sin(z)
    made[0, 0], made[0, 1], made[0, 2] = cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx
    made[1, 0], made[1, 1], made[1, 2] = sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx
    made[2, 0], made[2, 1], made[2, 2] = -sy, cy * sx, cy * cx


@njit
def turn_about(a, b, c, made):
    """Write the matrix of the rotation about (a, b, c) by its length to `made`; the identity below 0.0001."""
    angle = math.sqrt(a * a + b * b + c * c)
    if angle < 0.0001:
        made[:] = np.eye(3)
        return
    x, y, z, cosine, sine = a / angle, b / angle, c / angle, math.cos(angle), math.sin(angle)
    rest = 1.0 - cosine
    made[0, 0], made[0, 1], made[0, 2] = x * x * rest + cosine, x * y * rest - z * sine, x * z * rest + y * sine
    made[1, 0], made[1, 1], made[1, 2] = x * y * rest + z * sine, y * y * rest + cosine, y * z * rest - x * sine
    made[2, 0], made[2, 1], made[2, 2] = x * z * rest - y * sine, y * z * rest + x * sine, z * z * rest + cosine


@njit
def angles(theta, bones):
    """Return three angles for each bone. A finger has three joints that bend; its first joint also turns sideways."""
    made = np.zeros((bones, 3))
    t = 6
    for finger in range(FINGERS):
        for joint in range(3):
            bone = 2 + 4 * finger + joint
            made[bone, 0] = theta[t]
            t += 1
            if joint == 0:
                made[bone, 1] = theta[t]
                t += 1
    return made


@njit
def multiply(a, b, made):
    """Write the product of two 4 x 4 matrices to `made`."""
    for i in range(4):
        for j in range(4):
            entry = 0.0
            for k in range(4):
                entry += a[i, k] * b[k, j]
            made[i, j] = entry


@njit
def transforms(theta, parents, relatives, inverses):
    """Return the matrix of each bone: its own rotation after those of its ancestors."""
    bones = len(parents)
    bend = angles(theta, bones)
    absolute, made = np.empty((bones, 4, 4)), np.empty((bones, 4, 4))
    turned, local = np.eye(4), np.empty((4, 4))
    for bone in range(bones):
        turn(bend[bone, 0], bend[bone, 2], bend[bone, 1], turned)
        if parents[bone] == -1:
            multiply(relatives[bone], turned, absolute[bone])
        else:
            multiply(relatives[bone], turned, local)
            multiply(absolute[parents[bone]], local, absolute[bone])
        multiply(absolute[bone], inverses[bone], made[bone])
    return made


@njit
def vertex(at, bones, base, weights, mirrored):
    """Return the position of a vertex: the weighted mean of where its bones move it."""
    x = y = z = 0.0
    for bone in range(len(bones)):
        w = weights[at, bone]
        if w != 0.0:
            for k in range(4):
                held = w * base[at, k]
                x += bones[bone, 0, k] * held
                y += bones[bone, 1, k] * held
                z += bones[bone, 2, k] * held
    if mirrored:
        x = -x
    return x, y, z


@njit
def errors(unknown, us, hand, points, corners):
    """Return three errors for each point. The first two unknowns are added to every u, the others are the pose.

    Only vertices that belong to a point are computed.
    """
    parents, relatives, inverses, base, weights, mirrored = hand
    theta, turned = unknown[2:], np.empty((3, 3))
    bones = transforms(theta, parents, relatives, inverses)
    turn_about(theta[0], theta[1], theta[2], turned)
    made = np.empty(3 * len(points))
    for i in range(len(points)):
        x = y = z = 0.0
        for c in range(corners.shape[1]):
            share = 1.0
            if len(us) > 0:
                u, v = us[i, 0] + unknown[0], us[i, 1] + unknown[1]
                share = u if c == 0 else (v if c == 1 else 1.0 - u - v)
            vx, vy, vz = vertex(corners[i, c], bones, base, weights, mirrored)
            x, y, z = x + share * vx, y + share * vy, z + share * vz
        for k in range(3):
            made[3 * i + k] = points[i, k] - theta[3 + k] - turned[k, 0] * x - turned[k, 1] * y - turned[k, 2] * z
    return made


derivative = dr.jacfwd(errors)


@njit
def jacobian(unknown, us, hand, points, corners):
    """Jacobian of all errors, without the two columns of u where points belong to vertices."""
    made = derivative(unknown, us, hand, points, corners)
    return made if len(us) > 0 else made[:, 2:]


def prepare(given):
    """Read the pose, the points, and the vertices that each point belongs to."""
    data = field(given, "data")
    model = field(data, "model")
    points = reals(data, "points", None, 3)
    chosen = wholes(data, "correspondences", len(points))
    us = reals(given, "us", len(points), 2) if np.size(field(given, "us")) else np.zeros((0, 2))
    hand = skeleton(model)
    vertices = len(hand[3])
    corners = chosen[:, None]
    if len(us):
        triangles = wholes(model, "triangles", None, 3)
        corners = np.ascontiguousarray(triangles[within(chosen, "correspondences", len(triangles))])
    unknown = np.concatenate((np.zeros(2), reals(given, "theta", PARAMETERS)))
    return unknown, us, hand, points, within(corners, "the vertices of points", vertices)


def skeleton(model):
    """Read the hand: bones, surface and weights."""
    parents = wholes(model, "parents", None)
    bones = len(parents)
    if bones < BONES or np.any(parents >= np.arange(bones)) or np.any(parents < -1):
        raise InputError(f"'parents' has {BONES} bones or more, each after the one that it hangs on; -1 is none")
    relatives = reals(model, "base_relatives", bones, 4, 4)
    inverses = reals(model, "inverse_base_absolutes", bones, 4, 4)
    base = reals(model, "base_positions", None, 4)
    weights = reals(model, "weights", len(base), bones)
    return parents, relatives, inverses, base, weights, bool(field(model, "is_mirrored"))


def within(numbers, name, below):
    """Return the indices; InputError if one is not from 0 to `below` - 1."""
    if np.any(numbers < 0) or np.any(numbers >= below):
        raise InputError(f"{name!r} has a number that is not from 0 to {below - 1}")
    return numbers


EXAMPLE = {
    "theta": [0.1] * PARAMETERS,
    "us": [],
    "data": {
        "points": [[0.1, 0.2, 0.3]],
        "correspondences": [0],
        "model": {
            "parents": [-1] + [0] * (BONES - 1),
            "base_relatives": [np.eye(4).tolist()] * BONES,
            "inverse_base_absolutes": [np.eye(4).tolist()] * BONES,
            "base_positions": [[0.1, 0.2, 0.3, 1.0]],
            "weights": [[1.0] + [0.0] * (BONES - 1)],
            "triangles": [[0, 0, 0]],
            "is_mirrored": False,
        },
    },
}
FUNCTIONS = {
    "objective": Function(errors, prepare, EXAMPLE, listed),
    "jacobian": Function(jacobian, prepare, EXAMPLE, listed),
}
