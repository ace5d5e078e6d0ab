"""The wording of every exception: what happened, where (the user's file and line), why, and what to write instead."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from dualrev import errors
from dualrev.errors import (
    ArgumentError,
    ArgumentNumberError,
    AuxiliaryError,
    BatchError,
    BridgeError,
    CheckError,
    ClosureError,
    ConversionError,
    CotangentError,
    CustomRuleError,
    DualrevError,
    HashError,
    LaunchError,
    LeafError,
    LeakError,
    LiftError,
    LoopError,
    NonFiniteError,
    OutputError,
    OutputNumberError,
    PrimitiveError,
    ScalarError,
    SolutionError,
    SparsityError,
    TangentError,
    TreeError,
    UnsupportedError,
)
from stages import STAGES

EXAMPLES = {
    ArgumentError: (((2, "a"),), TypeError),
    LeafError: ((1j, "derivatives here are of real numbers", "Pass the real and the imaginary part"), TypeError),
    OutputError: ((None,), TypeError),
    CotangentError: ((2, "a discrete value (int)"), ValueError),
    ConversionError: (("float()",), TypeError),
    HashError: ((), TypeError),
    LaunchError: (("the launch of an adjoint", "it needs a grid", "adjoint[blocks, threads]"), ValueError),
    TangentError: ((2, "a discrete value (int)"), ValueError),
    TreeError: ((2.0, "an array of shape (2,)"), ValueError),
    ScalarError: ((None,), TypeError),
    BatchError: (("axis 2 of argument 0", "it has 1 axes", "None"), ValueError),
    BridgeError: (("the argument of 'f'", "it is a tensor of torch.float32", "x.double()"), ValueError),
    SparsityError: (("the sparsity of 'f'", "it lacks an entry", "no sparsity"), ValueError),
    AuxiliaryError: ((1.0,), TypeError),
    ArgumentNumberError: ((3, 1), ValueError),
    OutputNumberError: ((3, 1), ValueError),
    CustomRuleError: ((len, "defjvp(rule)"), TypeError),
    SolutionError: ((len, "its Jacobian is singular there"), RuntimeError),
    PrimitiveError: (("sin", "the name is taken"), ValueError),
    ClosureError: ((len,), TypeError),
    CheckError: (("jvp", 1.0, 2.0, "within 1e-6"), AssertionError),
    LeakError: ((), RuntimeError),
    LiftError: ((len,), TypeError),
    NonFiniteError: (("f.py:3: `y = np.log(x)`", "`np.log(x)` is -inf at 0.0", "Test x before."), FloatingPointError),
    LoopError: ((len, "a step takes its number"), TypeError),
    UnsupportedError: (("numpy.nan_to_num", "np.where(np.isnan(x), 0.0, x)"), TypeError),
}


def test_there_is_an_example_of_every_exception():
    assert {cls.__name__ for cls in EXAMPLES} | {"DualrevError", "UntestedVersionWarning", "explain"} == set(
        errors.__all__
    )


@pytest.mark.parametrize("cls", EXAMPLES)
def test_every_exception_is_a_dualrev_error_and_the_one_that_python_would_raise(cls):
    arguments, builtin = EXAMPLES[cls]
    error = cls(*arguments)
    assert isinstance(error, DualrevError)
    assert isinstance(error, builtin)
    assert error.args == (str(error),)


@pytest.mark.parametrize("cls", EXAMPLES)
def test_every_message_is_short_and_of_whole_sentences(cls):
    """A message says what happened, where, and what to write, on two lines at most; the rest is in `more`."""
    error = cls(*EXAMPLES[cls][0])
    text = str(error)
    assert text.count("\n") <= 1
    assert len(text) - text.count(__file__) * len(__file__) < 420
    for said in (text, error.more):
        assert "  " not in said
        assert said.endswith(".") or not said
        assert ".." not in said
    assert ("dr.errors.explain()" in text) is bool(error.more)


@pytest.mark.parametrize("cls", EXAMPLES)
def test_the_page_that_an_error_names_is_there(cls):
    assert (Path(__file__).parents[2] / cls(*EXAMPLES[cls][0]).page).is_file()


def test_argument_error_names_the_types_and_the_cure():
    error = ArgumentError((2, "a", None))
    text = str(error)
    assert "nothing to differentiate with respect to" in text
    assert "(types: int, str, NoneType)" in text
    assert "Write 2.0 where you wrote 2." in text
    assert "Floats, numpy floating scalars and the elements of floating arrays" in error.more
    assert "ints, bools, strings, None and objects of unregistered classes are constants" in error.more
    assert "dualrev.register_node" in error.more


def test_argument_error_without_arguments_says_so():
    assert "(types: none)" in str(ArgumentError(()))


def test_leaf_error_names_the_type_the_reason_and_the_cure():
    assert str(LeafError({1.0}, "its members would merge", "Pass a list")) == (
        "a value of type set cannot be differentiated: its members would merge. Pass a list."
    )


def test_output_error_shows_the_value_and_thinks_of_the_forgotten_return():
    error = OutputError(None)
    assert "the function returned None (type NoneType), which holds no real scalar" in str(error)
    assert "Write `return y` at its end" in str(error)
    assert "Return a float, or nested data with floats in it" in error.more
    assert "outputs=(k,)" in error.more


def test_cotangent_error_shows_what_was_given_what_was_expected_and_the_rule():
    error = CotangentError([1.0], "a tuple with 2 entries")
    assert "was given [1.0] (type list) where the function's value has a tuple with 2 entries" in str(error)
    assert "a number for every real scalar" in error.more
    assert "an array of the same shape for an array" in error.more
    assert "None for every discrete value" in error.more


@pytest.mark.parametrize("conversion", ["float()", "complex()", "pickling"])
def test_conversion_error_names_the_conversion_the_line_the_reason_and_the_cure(conversion):
    error = ConversionError(conversion)  # this very line
    text = str(error)
    assert text.startswith(f"{conversion} of a number that is being differentiated at {__file__}:")
    first, second = text.split("\n")
    assert first.endswith("`error = ConversionError(conversion)  # this very line`.")
    assert ("`from dualrev import math`" in second) is (conversion == "float()")
    assert "dualrev.value(x)" in second
    assert "would lose its derivative" in error.more


def test_hash_error_names_the_line_the_reason_and_the_cure():
    error = HashError()  # this very line
    text = str(error)
    assert text.startswith(f"a number that is being differentiated was used as a key at {__file__}:")
    assert "`error = HashError()  # this very line`.\n" in text
    assert "dualrev.value(x) for the key" in text
    assert "may be equal and have different derivatives" in error.more


def test_leak_error_names_the_line_the_reason_and_the_cure():
    text = str(LeakError())  # this very line
    assert text.startswith(f"a number from a differentiation that has ended was used at {__file__}:")
    assert "`text = str(LeakError())  # this very line`" in text
    assert "kept in a global, a cache, a closure or a generator" in text
    assert "keep dualrev.value(x) there" in text


def test_unsupported_error_names_the_function_the_line_the_reason_and_the_cure():
    text = str(UnsupportedError("numpy.f", "g(x)"))  # this very line
    assert text.startswith(f"numpy.f of numbers that are being differentiated at {__file__}:")
    assert "there is no derivative rule for it" in text
    assert text.endswith("Write g(x).")


def test_unsupported_error_of_a_call_says_what_where_why_and_the_cure():
    text = str(UnsupportedError.call("f was called", "it has no rule", "g(x)"))  # this very line
    assert text.startswith(f"f was called at {__file__}:")
    assert text.endswith("# this very line`: it has no rule. Write g(x).")


def test_lift_error_shows_what_was_given_the_line_and_the_cure():
    text = str(LiftError(len))  # this very line
    assert text.startswith(f"dualrev.lift takes a numba function, but got {len!r} (type builtin_function_or_method) at")
    assert "`text = str(LiftError(len))  # this very line`" in text
    assert text.endswith("leave dualrev.lift out, or write @numba.njit below it.")


def test_the_line_number_is_that_of_the_innermost_line_outside_the_library():
    def inner():
        return str(HashError())

    def outer():
        return inner()

    assert f"{__file__}:{inner.__code__.co_firstlineno + 1}: `return str(HashError())`" in outer()


def test_the_line_is_the_user_s_where_an_installed_package_converts_the_number():
    seen = []

    def f(x):
        try:
            np.full(2, x, dtype=float)  # this very line
        except ConversionError as error:
            seen.append(str(error))
        return x

    STAGES["tape"].vjp(f, 1.0)
    assert "`np.full(2, x, dtype=float)  # this very line`" in seen[0]


def test_a_line_without_a_source_file_is_named_without_its_text():
    scope = {"HashError": HashError}
    exec(compile("\n\nmessage = str(HashError())", "<typed in>", "exec"), scope)
    assert "was used as a key at <typed in>:3.\nUse dualrev.value(x)" in scope["message"]


@pytest.mark.parametrize("make", [OutputError, lambda x: CotangentError(x, "a real scalar")])
def test_long_values_are_cut_short(make):
    text = str(make("y" * 10_000))
    assert "'" + "y" * 56 + "... (type str)" in text
    assert len(text) < 500


@pytest.mark.parametrize("make", [OutputError, lambda x: CotangentError(x, "a real scalar")])
def test_deep_values_are_cut_short(make):
    deep = ()
    for _ in range(100_000):
        deep = (deep,)
    text = str(make(deep))
    assert "(type tuple)" in text
    assert len(text) < 500


@pytest.mark.parametrize("make", [OutputError, lambda x: CotangentError(x, "a real scalar")])
def test_values_whose_repr_raises_are_named_by_their_type(make):
    class Unprintable:
        def __repr__(self):
            raise RuntimeError("no repr")

    assert "(type Unprintable)" in str(make(Unprintable()))


@pytest.mark.parametrize("cls", EXAMPLES)
def test_exceptions_travel_between_processes(cls):
    error = cls(*EXAMPLES[cls][0])
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is cls
    assert str(copied) == str(error)
    assert copied.more == error.more
