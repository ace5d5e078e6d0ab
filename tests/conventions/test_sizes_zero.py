"""Arrays without elements, of one row, one column and one element: numpy's own answer under differentiation, too.

Values, shapes, dtypes, warnings and errors are those of the plain function; derivatives have the shape of the value and
of the argument, and agree with differences. sizes.py has the calls.
"""

import re

import pytest
import scipy.special
from support.sizes import ONE, PAIRS, SHAPES, SPECIAL, TWO, WRITES, calls, function, numbers, problems

from dualrev.rules.functions import TABLE

# numpy 2.5 deprecates np.fix
pytestmark = pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")

#: Each call runs at every tenth shape, another one for the next call; the campaign takes all of them.
STRIDE = 10


def wrong(lines, shapes, offset, stride, writes=False):
    """List the problems of the calls of these lines."""
    found, count = [], offset
    for line in lines:
        for call in calls(line):
            count += 1
            f = function(call, writes)
            for chosen in shapes[count % stride :: stride]:
                args = tuple(numbers(shape, 0.31 + 0.2 * k) for k, shape in enumerate(chosen))
                found += [f"{call} of {chosen}: {what}" for what in problems(f, args)]
    return found


TABLES = {
    "one array": (ONE, [(shape,) for shape in SHAPES], False),
    "two arrays": (TWO, PAIRS, False),
    "writing": (WRITES, [pair for pair in PAIRS if pair[0]], True),
}


@pytest.mark.parametrize("name", TABLES)
def test_functions_of_numpy(name):
    lines, shapes, writes = TABLES[name]
    assert not wrong(lines, shapes, 0, STRIDE, writes)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_functions_of_numpy_at_every_shape(name):
    lines, shapes, writes = TABLES[name]
    assert not wrong(lines, shapes, 0, 1, writes)


def test_every_function_of_numpy_that_the_tape_knows_is_here():
    text = "\n".join([*ONE, *TWO, *WRITES])
    known = {name for name, f in TABLE.items() if f.topic and f.function is not None and name.startswith("np.")}
    assert not {name for name in known if not re.search(rf"{re.escape(name)}\b", text)}


def test_special_functions():
    def of(name):
        ufunc = getattr(scipy.special, name.rpartition(".")[2])
        return f"{name}({', '.join(['1.0'] * (ufunc.nin - 1) + ['x'])})"

    assert not wrong(map(of, SPECIAL), [((0,),), ((1,),), ((0, 3),)], 0, 1)
