"""Idioms that only numba has: complex numbers, records, instances of a jitclass, samples. See idioms.py."""

from __future__ import annotations

from programs.generators.idioms_table import read

__all__ = ["NUMBA_IDIOMS"]

_TEXT = """
## sum of Fourier : s
{N} = 0.0
for k_ in range(3):
    at_ = 0j
    for i_ in range(len(a)):
        at_ += {v1}[i_] * np.exp(-2j * np.pi * k_ * i_ / len(a))
    {N} += {c} * abs(at_) ** 2
## rotation of phases : Z
{N} = {Z} * np.exp(1j * {c} * {v})
## recurrence that escapes : z
{N} = {z}
for t_ in range(4):
    if abs({N}) > 2.0:
        break
    {N} = {c} * {N} * {N} + {z}
## filter of complex numbers : Z
{N} = np.empty(len(a), np.complex128)
{N}[0] = {Z1}[0]
for i_ in range(1, len(a)):
    {N}[i_] = {c} * {N}[i_ - 1] + (1.0 - {c}) * {Z1}[i_]
## transfer function : s
{N} = 0.0
for k_ in range(1, 4):
    s_ = 1j * ({c} * k_)
    {N} = max({N}, abs(1.0 / ((1.5 + {s} ** 2) * s_ * s_ + {c} * s_ + {z} + 2.5)))
## largest amplitude : ss
{N1}, {N2} = 0.0, 0.0
for y_ in {Z}:
    if abs(y_) > {N1}:
        {N1}, {N2} = abs(y_), y_.real * y_.imag
## butterflies in place
wave_ = {Z}.copy()
for i_ in range(len(a) // 2):
    even_, odd_ = wave_[i_], wave_[-1 - i_] * {z}
    wave_[i_], wave_[-1 - i_] = even_ + odd_, even_ - odd_
{w1} += {c} * wave_.real
## power and phase : vs
{N1} = np.abs({Z}) ** 2
{N2} = np.angle(np.sum({Z}) + 9.0)
## step of all bodies
for i_ in range(len({r1})):
    {r1}[i_].v[0] -= {c} * {r1}[i_].x
    {r1}[i_].x += {c} * {r1}[i_].v[0]
## forces between bodies
for i_ in range(len({r1})):
    for j_ in range(i_):
        gap_ = {r1}[i_].x - {r1}[j_].x
        {r1}[i_].v[1] -= {c} * gap_ / (1.0 + gap_ * gap_)
        {r1}[j_]["v"][1] += {c} * gap_
## energy of bodies : s
{N} = 0.0
for body_ in {r}:
    {N} += 0.5 * body_.x * np.sum(body_.v * body_.v)
## column of a table
{r1}["x"][:] = {c} * {r1}["x"] + {v}
## bodies that are swapped
{r1}[0] = {r1}[-1]
{r1}["v"][1:] *= {c}
## counter that grows : s
{o1}.grow({s})
if {o1}.count % 2 == 0:
    {o1}.half = {c} * {o1}.value
{N} = {o1}.total({k} % 3)
## state of an object
{o1}.places[:] = {c} * {o1}.places[::-1]
{o1}.value += {o1}.places[0] * {s}
## mean of samples : s
{N} = 0.0
for t_ in range(3):
    {N} += np.random.normal({s}, 0.5 + {s} ** 2) * {c}
## random walk : s
{N} = {s}
while np.random.rand() < 0.6:
    {N} += np.random.exponential({c} + {s} ** 2) - {c}
## noise on a vector : v
{N} = {v} + np.random.normal(0.0, {c}, len(a))
## resampled : v
{N} = np.empty(len(a))
for i_ in range(len(a)):
    {N}[i_] = {v1}[np.random.randint(len(a))] * np.random.uniform({c}, 1.0 + {s} ** 2)
## step that is taken by chance
for i_ in range(len({w1})):
    tried_ = {w1}[i_] + np.random.normal(0.0, 0.3)
    if np.random.random() < math.exp(-tried_ * tried_):
        {w1}[i_] = tried_ * {c}
"""

NUMBA_IDIOMS = read(_TEXT)
