"""Connectionist temporal classification (Graves et al. 2006): -log of the probability that a row of labels is heard.

At each step a label or a blank (0) is heard; equal ones without a blank between count once. With the labels between
blanks, z = 0 l1 0 l2 ... 0, the probability a[s] of having heard z up to s is a recurrence:

    a'[s] = (a[s] + a[s - 1] + (a[s - 2] if z[s] is no blank, and not z[s - 2])) p[t, z[s]]

a is divided by its sum at each step, so that nothing underflows, and the loss is the sum of the logarithms of these. It
is a numba function whose derivative dualrev compiles: there is no rule for it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

import dualrev as dr
from examples.lantern.errors import DataError, check_label

__all__ = ["check_labels", "ctc", "lifted_ctc"]


@njit
def ctc(p: Any, labels: Any) -> Any:
    """The loss of probabilities (steps, classes) and labels, which have to fit into the steps: `check_labels`."""
    size = 2 * len(labels) + 1
    a = np.zeros(size)
    a[0] = 1.0  # before the first step: the first blank, from which the first label is one further
    loss = 0.0
    for t in range(len(p)):
        b = np.zeros(size)
        total = 0.0
        for s in range(size):
            z = labels[s // 2] if s % 2 == 1 else 0
            reached = a[s]
            if s > 0:
                reached += a[s - 1]
            if s > 1 and z != 0 and z != labels[s // 2 - 1]:
                reached += a[s - 2]
            b[s] = reached * p[t, z]
            total += b[s]
        for s in range(size):
            a[s] = b[s] / total
        loss -= math.log(total)
    ended = a[size - 1]
    if size > 1:
        ended += a[size - 2]
    return loss - math.log(ended)


lifted_ctc = dr.lift(ctc)


def check_labels(labels: np.ndarray, steps: int, classes: int, place: str) -> None:
    """DataError if a label is a blank or no class, or if there are more labels than can be heard in so many steps."""
    for k, label in enumerate(labels):
        check_label(int(label), classes, f"{place}, label {k}")
        if label == 0:
            raise DataError(f"{place}, label {k}: the label is 0, which is the blank. Leave it out.")
    needed = len(labels) + int(np.sum(labels[1:] == labels[:-1]))
    if needed > steps:
        takes = f"its {len(labels)} labels take {needed} steps, with a blank between equal ones"
        raise DataError(f"{place}: {takes}, and there are {steps}. Take fewer labels, or more frames.")
