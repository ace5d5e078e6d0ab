"""The idioms of idioms.py: templates by name, with the kinds of what they add to the pool; and helpers that they call.

A name that ends in `_` is local to its idiom.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HEADER", "HELPERS", "IDIOMS", "Idiom", "read"]


@dataclass(frozen=True)
class Idiom:
    """A template; `makes` are the kinds of new variables N, or N1, N2 and so on."""

    name: str
    makes: str
    text: str

    @property
    def made(self) -> list[tuple[str, str]]:
        """The number in the name of each new variable, and its kind."""
        return [("" if len(self.makes) == 1 else str(k + 1), kind) for k, kind in enumerate(self.makes)]


HEADER = "import math\nimport numpy as np\nfrom numba import njit"
HELPERS = {
    "slope_of": """
@njit
def slope_of(state, rate):
    made = np.empty_like(state)
    for i in range(len(state)):
        left = state[i - 1] if i > 0 else state[-1]
        made[i] = rate * (left - state[i]) * math.cos(state[i])
    return made
""",
    "fill_in": """
@njit
def fill_in(out, by):
    for i in range(len(out)):
        if i % 2 == 0:
            out[i] = math.tanh(out[i] + by)
        else:
            out[i] *= 0.7
""",
    "halves": """
@njit
def halves(values):
    n = len(values)
    if n <= 2:
        return np.sum(values * values)
    return halves(values[: n // 2]) + 0.5 * halves(values[n // 2 :])
""",
    "total_of": """
@njit
def total_of(first, *rest):
    s = first
    for r in rest:
        s += 0.5 * r * first
    return s
""",
    "bounds": """
@njit
def bounds(values):
    low, high = values[0], values[0]
    for x in values[1:]:
        if x < low:
            low = x
        elif x > high:
            high = x
    return low, high
""",
}
_TEXT = """
## relaxation in place
for i_ in range(1, len({w1}) - 1):
    {w1}[i_] += {c} * ({w1}[i_ - 1] - 2.0 * {w1}[i_] + {w1}[i_ + 1])
## red and black points
{w1}[1:-1:2] = {c} * ({w1}[:-2:2] + {w1}[2::2])
## two buffers that are swapped : v
now_, next_ = {v}.copy(), np.zeros(len(a))
for t_ in range({k} % 3 + 1):
    for i_ in range(1, len(now_) - 1):
        next_[i_] = now_[i_] + {c} * (now_[i_ + 1] - now_[i_ - 1])
    now_, next_ = next_, now_
{N} = now_
## scatter by places : v
{N} = np.zeros(len(a))
for i_ in range(len({q1})):
    {N}[{q1}[i_]] += {v}[i_] * {c}
## gather by places : v
{N} = {v}[{q}] * {v}
## places, written
{w}[{q}] = {v} * {c}
## mask, augmented
{w}[{b}] *= {c}
## condition as mask
{w1}[{w1} > {c}] = {c}
## condition made of two : b
{N} = ({v} > -{c}) & ({v} < {c})
## where
{w} = np.where({b}, {v} * {c}, {v})
## places of a mask : s
{N} = 0.0
for i_ in np.flatnonzero({b}):
    {N} += {v1}[i_] * {v1}[i_ - 1]
## list that collects : s
kept_ = []
for y_ in {v}:
    if y_ > -{c}:
        kept_.append(y_ * {c})
{N} = 0.0
for y_ in kept_:
    {N} += y_ * y_
if len(kept_) > 1:
    {N} += kept_[0] * kept_[-1]
## stack of numbers : s
stack_ = [{s}]
for i_ in range(len({v1})):
    if {v1}[i_] > 0.0:
        stack_.append(stack_[-1] * {c} + {v1}[i_])
    elif len(stack_) > 1:
        stack_.pop()
{N} = stack_[-1]
## list comprehension : s
parts_ = [{c} * y_ * y_ for y_ in {v} if y_ < {c}]
{N} = sum(parts_)
## running maximum : ss
{N1}, {N2} = -1.0e3, 0.0
for i_ in range(len({v1})):
    if {v1}[i_] > {N1}:
        {N1}, {N2} = {v1}[i_], {N1} * 0.001
## best so far, or None : s
best_ = None
for i_ in range(len({v1})):
    if {v1}[i_] > {c} and (best_ is None or {v1}[i_] < best_):
        best_ = {v1}[i_]
{N} = {s}
if best_ is not None:
    {N} = best_ * {c}
## Kahan's sum : s
{N}, lost_ = 0.0, 0.0
for y_ in {v}:
    term_ = y_ - lost_
    next_ = {N} + term_
    lost_ = (next_ - {N}) - term_
    {N} = next_
## moving average : w
{N} = np.empty(len(a))
{N}[0] = {v1}[0]
for i_ in range(1, len({v1})):
    {N}[i_] = {c} * {v1}[i_] + (1.0 - {c}) * {N}[i_ - 1]
## recurrence from the end : w
{N} = {v}.copy()
for i_ in range(len({N}) - 2, -1, -1):
    {N}[i_] -= {c} * {N}[i_ + 1]
## tridiagonal system : w
diag_, {N} = 2.0 + {v1} * {v1}, {v}.copy()
for i_ in range(1, len(diag_)):
    factor_ = {c} / diag_[i_ - 1]
    diag_[i_] -= factor_ * {c}
    {N}[i_] -= factor_ * {N}[i_ - 1]
for i_ in range(len(diag_) - 1, -1, -1):
    if i_ < len(diag_) - 1:
        {N}[i_] -= {c} * {N}[i_ + 1]
    {N}[i_] /= diag_[i_]
## Horner : s
{N} = 0.0
for y_ in {v}[::-1]:
    {N} = {N} * math.tanh({s}) + y_
## square root by Newton's method : s
aim_ = 1.5 + {s} * {s}
{N} = 1.0
while abs({N} * {N} - aim_) > 1.0e-9:
    {N} = 0.5 * ({N} + aim_ / {N})
## fixed point with an early end : w
{N} = {v1} * {c}
for t_ in range(4):
    last_ = {N}.copy()
    {N} = {c} * np.cos(last_) + {v1} * 0.1
    if np.max(np.abs({N} - last_)) < 1.0e-2:
        break
## reversal in place
i_, j_ = 0, len({w1}) - 1
while i_ < j_:
    {w1}[i_], {w1}[j_] = {w1}[j_], {w1}[i_]
    i_ += 1
    j_ -= 1
## rotation in place
first_ = {w1}[0]
{w1}[:-1] = {w1}[1:]
{w1}[-1] = first_
## insertion sort
for i_ in range(1, len({w1})):
    y_, j_ = {w1}[i_], i_ - 1
    while j_ >= 0 and {w1}[j_] > y_:
        {w1}[j_ + 1] = {w1}[j_]
        j_ -= 1
    {w1}[j_ + 1] = y_
## order of another vector : v
{N} = {v}[np.argsort({v})] * {v}
## sums so far
for i_ in range(1, len({w1})):
    {w1}[i_] += {c} * {w1}[i_ - 1]
## views of both halves
half_ = len({w1}) // 2
left_, right_ = {w1}[:half_], {w1}[-half_:]
left_ += {c} * right_
right_ *= {c}
## block that is copied down
{m1}[1:] = {c} * {m1}[:-1].copy()
## rows, normalised
for i_ in range({m1}.shape[0]):
    {m1}[i_] /= math.sqrt(1.0 + np.sum({m1}[i_] ** 2))
## rows that are swapped
row_ = {m1}[0].copy()
{m1}[0] = {m1}[1]
{m1}[1] = row_
## columns
for j_ in range({m1}.shape[1]):
    column_ = {m1}[:, j_]
    column_ -= {c} * np.mean(column_)
## elimination below a pivot
for i_ in range(1, {m1}.shape[0]):
    factor_ = {m1}[i_, 0] / (1.5 + {m1}[0, 0] ** 2)
    for j_ in range({m1}.shape[1]):
        {m1}[i_, j_] -= factor_ * {m1}[0, j_]
## product by loops : w
{N} = np.zeros(len(a))
for i_ in range({m1}.shape[0]):
    for j_ in range({m1}.shape[1]):
        {N}[i_] += {m1}[i_, j_] * {d1}[j_]
## product : w
{N} = {m} @ {d} * {c}
## update of rank one
{m} += {c} * np.outer({v}, {d})
## broadcast over rows
{m1} -= {d} * {c}
## sums along an axis : d
{N} = {c} * np.sum({m}, axis=0)
## softmax : v
shifted_ = np.exp({v1} - np.max({v1}))
{N} = shifted_ / np.sum(shifted_)
## logarithm of a sum : s
most_ = np.max({v1})
{N} = most_ + math.log(np.sum(np.exp({v1} - most_)))
## pairs : s
{N} = 0.0
for i_ in range(len({v1})):
    for j_ in range(i_):
        gap_ = {v1}[i_] - {v1}[j_]
        if gap_ * gap_ < 4.0:
            {N} += {c} / (1.0 + gap_ * gap_)
## shortest way : s
cost_ = np.zeros({m1}.shape)
for i_ in range({m1}.shape[0]):
    for j_ in range({m1}.shape[1]):
        before_ = 0.0
        if i_ > 0 and j_ > 0:
            before_ = min(cost_[i_ - 1, j_], cost_[i_, j_ - 1])
        elif i_ > 0:
            before_ = cost_[i_ - 1, j_]
        cost_[i_, j_] = before_ + {m1}[i_, j_] ** 2
{N} = {c} * cost_[-1, -1]
## table with a search : s
grid_ = np.sort({v1} * 1.0)
place_ = min(max(np.searchsorted(grid_, {s}), 1), len(grid_) - 1)
{N} = grid_[place_ - 1] + {c} * (grid_[place_] - grid_[place_ - 1])
## ring buffer : s
ring_, {N} = np.zeros(3), 0.0
for i_ in range(len({v1})):
    {N} += {c} * ring_[i_ % 3]
    ring_[i_ % 3] = {v1}[i_]
## steps of Runge and Kutta : w
{N} = {v}.copy()
for t_ in range({k} % 3 + 1):
    one_ = slope_of({N}, {c})
    two_ = slope_of({N} + 0.5 * one_, {c})
    {N} = {N} + 0.5 * (one_ + two_)
## leapfrog : ss
{N1}, {N2} = {s}, {s}
for t_ in range(3):
    {N2} -= {c} * {N1}
    {N1} += {c} * {N2}
## call that fills
fill_in({w}, {s})
## row that is filled by a call
fill_in({m}[1], {s})
## recursion on halves : s
{N} = {c} * halves({v})
## any number of arguments : s
{N} = total_of({s}, {s}, {v}[1])
## two results : ss
{N1}, {N2} = bounds({v})
## zip and enumerate : s
{N} = 0.0
for i_, (y_, z_) in enumerate(zip({v}, {v})):
    {N} += y_ * z_ if i_ % 2 == 0 else {c} * y_
## elements with their places : s
{N} = 0.0
for (i_, j_), y_ in np.ndenumerate({m}):
    {N} += y_ * (i_ - j_) * 0.1
## product, into an array
np.multiply({w1}, {c}, {w1})
## differences and their sum : s
{N} = np.sum(np.abs(np.diff({v} * 1.0)))
## clipped step
{w1} -= np.minimum(np.maximum({c} * {v}, -{c}), {c})
## skip and stop
for i_ in range(len({w1})):
    if {w1}[i_] < -{c}:
        continue
    if i_ > {k} + 3:
        break
    {w1}[i_] = math.sin({w1}[i_])
## count that decides : s
count_ = np.sum({v} > {c})
{N} = {s} * count_ if count_ % 2 else {s} - 0.1 * count_
## function inside of the function : s
def bend_(t_, by_=0.5):
    return by_ * t_ * t_ if t_ > 0.0 else by_ * t_
{N} = bend_({s}) + bend_({v}[2], by_={c})
## polynomial by powers : s
{N}, power_ = 0.0, 1.0
for y_ in {d}:
    {N} += y_ * power_
    power_ *= math.tanh({s})
## overlapping halves
{w1}[1:] += {w1}[:-1]
{w1} *= {c}
## made antisymmetric
{w1} -= {w1}[::-1]
## found at once
for i_, y_ in enumerate({v}):
    if y_ > 1.15 and i_ < {k}:
        return {s} * y_ + {c} * np.sum({v})
## rule by a word : s
rule_ = "sum" if {k} % 2 == 0 else "most"
{N} = {c} * np.sum({v}) if rule_ == "sum" else np.max({v})
## how often, by a dict : s
often_ = {0: 1}
for i_ in range(len({q1})):
    place_ = int({q1}[i_]) % 3
    often_[place_] = often_.get(place_, 0) + 1
{N} = {s} * often_[0] * {c}
## places that were seen : s
seen_, {N} = {0}, 0.0
for i_ in range(len({q1})):
    if {q1}[i_] in seen_:
        continue
    seen_.add({q1}[i_])
    {N} += {v1}[i_] * {c}
## done in any case
sum_ = {s} * {c}
try:
    if sum_ > {c}:
        {w1}[0] *= {c}
finally:
    sum_ += {c}
{w1}[-1] += sum_
## events, a list of pairs : s
events_ = [(0.0, {s})]
for y_ in {v}:
    if y_ > events_[-1][0]:
        events_.append((y_, y_ * {c}))
{N} = 0.0
for at_, size_ in events_:
    {N} += size_ * math.exp(-at_ * at_)
## layers, a list of arrays : v
layers_ = [{v}, {c} * {v}]
{N} = np.zeros(len(a))
for layer_ in layers_:
    {N} = np.tanh({N} + layer_)
## heap of the smallest : s
kept_ = sorted([y_ * {c} for y_ in {v}])
kept_.insert(1, {s})
kept_.reverse()
kept_.pop(0)
{N} = kept_[-1] + {c} * kept_[1]
## cases : v
{N} = np.select([{v1} > {c}, {v1} < -{c}], [{v} * {c}, {v}], default=0.3)
## parts : s
first_, second_ = np.array_split({v} * {c}, 2)
{N} = np.sum(first_) * np.max(second_)
"""


def read(text: str) -> list[Idiom]:
    """The idioms of a text: `## name : kinds`, and the template below."""
    made = []
    for part in text.split("\n## ")[1:]:
        head, _, body = part.partition("\n")
        name, _, makes = head.partition(" : ")
        made.append(Idiom(name, makes.strip(), body.strip("\n")))
    return made


#: All that mean the same in plain Python and on the tape.
IDIOMS = read(_TEXT)
