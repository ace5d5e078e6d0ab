"""Check mode: dispatchers that run the primal function, too, and compare (dualrev/eager/checking/plain_run.py).

With DUALREV_CHECK=1, what `dispatchers.derivative` gives is a `Checked`. Called from Python, it compares the value with
that of the function on copies of the arguments, and what both leave in these, also where they raise; and a gradient
with that of `value_and_grad`. Calls from njit code are not compared.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numba

from dualrev.compiler.bridge.bind_arguments import bound, real_leaves, zeros
from dualrev.compiler.bridge.complex_values import holds_complex, zero_tangent
from dualrev.compiler.bridge.dispatcher import Derivative, made
from dualrev.compiler.bridge.object_values import has_instances, taken_apart
from dualrev.compiler.bridge.variadic import of_count
from dualrev.compiler.frontend.reading.source import describe
from dualrev.compiler.types.aliases import Dispatcher, UserValue
from dualrev.eager.arguments import argument_numbers
from dualrev.eager.checking.plain_run import PlainRun, difference, is_single
from dualrev.eager.copies import copied
from dualrev.errors import ArgumentError, CheckError, OutputError, UnsupportedError
from dualrev.tree import flatten_leaves

__all__ = ["Checked", "check_compiled"]


class Checked(Derivative):
    """Dispatcher of a derivative in check mode: it compares."""

    def __call__(self, *args: UserValue, **kwargs: UserValue) -> UserValue:
        f, transform, argnums = self.derivative_of
        whole = inspect.signature(self).bind(*args, **kwargs)
        whole.apply_defaults()
        values = tuple(whole.arguments.values())
        primals = tuple(values[k] for k in self._places)
        if has_instances(primals):  # there is no copy of them for one more run
            return super().__call__(*args, **kwargs)
        plain = PlainRun(f, primals, {})
        given = copied(plain.given)
        y, error = None, None
        try:
            y = plain.call(given)
        except Exception as raised:
            error = raised
        try:
            result = super().__call__(*args, **kwargs)
        except Exception as raised:
            if type(raised) is type(error):
                self._compare(plain, primals, given[0], "raised, and left in its arguments ")
            raise
        if error is not None:
            what = f"raised {type(error).__name__} normally but returned while differentiated"
            raise CheckError.of_value(f, what, _DEFECT) from error
        self._compare(plain, primals, given[0], "left in its arguments ")
        if transform == "grad":
            both = made(Checked, f, "value_and_grad", argnums)(*copied(plain.given)[0])
            how = "by grad", "by value_and_grad"
            self._compare(plain, result, both[1], "has the gradient ", how)
        elif transform in ("value_and_grad", "value_and_grad_aux", "vjp", "jvp"):
            self._compare(plain, result[0], y, "returned ")
        elif transform == "grad_aux":
            assert isinstance(y, tuple)
            self._compare(plain, result[1], y[1], "returned ")
        return result

    def _compare(
        self,
        plain: PlainRun,
        found: UserValue,
        expected: UserValue,
        place: str,
        how: tuple[str, str] = ("while differentiated", "normally"),
    ) -> None:
        fast = self.derivative_of[0].targetoptions.get("fastmath", False)
        what = difference(found, expected, 1e-6 if fast else 1e-10, is_single((plain.given, expected)), how)
        if what and (place != "returned " or not plain.is_rounding(found, expected)):
            raise CheckError.of_value(plain.f, place + what, _DEFECT)


_DEFECT = "That is a defect of dualrev, unless the function depends on more than its arguments."


def check_compiled(f: Dispatcher, args: tuple[UserValue, ...], argnums: int | Sequence[int] | None) -> None:
    """Compare the derivatives of a numba function by these arguments, in both modes; CheckError if they differ."""
    if has_instances(args):
        what, why = "a check by an instance of a jitclass or a structref", "there is no copy of it for one more run"
        raise UnsupportedError.at(describe(f.py_func), what, why, "differences of f for instances that you make anew")
    if argnums is None:
        numbers = [k for k, x in enumerate(args) if holds_complex(x) or real_leaves(f, taken_apart(x))[0]]
    else:
        numbers = argument_numbers(argnums, len(args))
    if not numbers:
        raise ArgumentError(args)
    f = of_count(f, len(args))
    whole = bound(f, args, {})
    try:
        _compare_all(f, whole, numbers)
    except UnsupportedError as error:
        from dualrev.compiler.driver.all_refusals import survey  # only where something is refused

        found = survey(f, tuple(map(numba.typeof, whole)), numbers, error)
        if found is error:
            raise
        raise found from None


def _compare_all(f: Dispatcher, whole: tuple[UserValue, ...], numbers: Sequence[int]) -> None:
    y = f(*copied(whole))
    leaves, output = flatten_leaves(y)
    if not leaves:
        raise OutputError(y)
    if isinstance(y, float):
        made(Checked, f, "value_and_grad", tuple(numbers))(*copied(whole))
    else:
        ct = output.cotangent_leaves(flatten_leaves(zeros((y,)))[0])
        made(Checked, f, "vjp", 0)(*copied(whole), ct)
    still = tuple(zero_tangent(x) if holds_complex(x) else zeros((taken_apart(x),))[0] for x in whole)
    made(Checked, f, "jvp", 0)(*copied(whole), *still)
