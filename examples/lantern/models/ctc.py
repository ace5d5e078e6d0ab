"""Connectionist temporal classification (Graves et al. 2006): minus the log-probability of a sequence of labels.

At each step the model emits a label or a blank (0); repeated labels without a blank between them count once. Let z be
the labels with blanks between and around them, z = 0 l1 0 l2 ... 0. The probability a[s] of having emitted z up to s
follows the recurrence

    a'[s] = (a[s] + a[s - 1] + (a[s - 2] if z[s] is not a blank and not z[s - 2])) p[t, z[s]]

At each step a is divided by its sum, so that nothing underflows; the loss is minus the sum of the logarithms of these
sums. It is a numba function whose derivative dualrev compiles, without a custom rule.
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
    """Compute the loss of probabilities (steps, classes) and labels, which must fit into the steps (`check_labels`)."""
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
    """Raise DataError if a label is a blank or not a class, or if the labels do not fit into the steps."""
    for k, label in enumerate(labels):
        check_label(int(label), classes, f"{place}, label {k}")
        if label == 0:
            raise DataError(f"{place}, label {k}: the label is 0, which is the blank. Leave it out.")
    needed = len(labels) + int(np.sum(labels[1:] == labels[:-1]))
    if needed > steps:
        takes = f"its {len(labels)} labels take {needed} steps, with a blank between equal ones"
        raise DataError(f"{place}: {takes}, and there are {steps}. Take fewer labels, or more frames.")
