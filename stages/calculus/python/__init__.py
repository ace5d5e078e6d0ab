"""The translation of Python functions to programs of the source language.

>>> from stages.calculus import show_program
>>> def f(x: float, y: float) -> float:
...     z = x + y
...     return x * z
>>> print(show_program(translate(f)))
λ(x : ℝ, y : ℝ). let z = x + y in x · z
"""

from stages.calculus.python.translate import translate
from stages.calculus.python.union import union
from stages.calculus.python.unions import from_value, to_value

__all__ = ["from_value", "to_value", "translate", "union"]
