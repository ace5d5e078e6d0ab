"""The table of functions that draw random numbers: its defaults are those of numpy and Python."""

import inspect
import random
import re

import numpy as np
import pytest

from dualrev.rules.drawing import DRAWING


def defaults(name):
    """The defaults of the library's function. numpy's have a signature in their docstring only."""
    package, _, function = name.rpartition(".")
    if package != "np.random":
        parameters = inspect.signature(getattr(random, function)).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}
    text = re.match(rf"\s*{function}\((.*)\)", getattr(np.random, function).__doc__)[1]
    return {key: eval(value) for key, _, value in (part.strip().partition("=") for part in text.split(",")) if value}


@pytest.mark.parametrize("name", [name for name, line in DRAWING.items() if line.defaults])
def test_defaults_are_those_of_the_library(name):
    line = DRAWING[name]
    own = dict(zip(line.parameters[-len(line.defaults) :], line.defaults, strict=True))
    expected = defaults(name)
    if name == "runtime.python_random.expovariate":  # without a default in Python 3.11
        expected = {"lambd": 1.0}
    elif name == "runtime.python_random.randrange":  # `randrange(stop)` has no start
        del expected["stop"]
    expected = {key: value for key, value in expected.items() if key not in ("size", "dtype")}
    assert own == expected
