"""Derivatives of numba functions as numba functions, and their cache: {build,cache,machine,fingerprint}.py.

What docs/numba/options.md promises of the cache, and the tests that hold it to that:

    found by a hash of all that it depends on     test_different_functions_have_different_fingerprints, ...
    what changed is compiled anew                 test_another_process_reuses_what_was_compiled_and_changes_are_seen
    no lasting text: a warning, nothing is kept   test_an_obstacle_is_said_and_nothing_is_kept
    modes 0700 and 0600, whatever the umask       test_all_that_is_made_is_the_users_own_whatever_the_umask
    read-only: loads, and one warning             test_a_read_only_folder_is_read
    others' folders are not used                  test_a_folder_that_another_user_has_made_is_not_used
    others' files are not used                    test_files_of_another_user_are_not_used
    nobody else reads or writes it                test_another_user_can_neither_read_nor_write_what_is_kept
    a keyed hash, before anything is unpickled    test_what_does_not_match_its_seal_is_neither_run_nor_unpickled
    every flipped bit is noticed                  test_every_flipped_bit_of_every_file_is_noticed
    ... and written anew                          test_another_process_notices_a_flipped_bit
    written in one step                           test_files_are_written_in_one_step
    workers share it                              test_spawned_and_forked_workers_reuse_it
    recursion is kept                             test_recursive_functions_are_loaded_in_another_process
    loaded code is closed in itself               test_loaded_code_is_not_mixed_up_with_functions_of_this_process
    large global arrays: no machine code is kept  test_a_large_global_array_is_not_kept
"""

import copy
import gc
import inspect
import itertools
import json
import linecache
import os
import pickle
import random
import subprocess
import sys
import tempfile
import threading
import types
import weakref
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import float64, njit
from numba.core.errors import TypingError
from support.processes import run_program

import dualrev.errors
from dualrev.compiler.bridge.cache import store
from dualrev.compiler.bridge.cache.key import fingerprint
from dualrev.compiler.bridge.dispatcher import Derivative
from dualrev.compiler.bridge.make_dispatcher import derivative
from dualrev.compiler.driver import emit as emission

ROOT = Path(__file__).resolve().parents[3]

approx = pytest.approx
numbers = itertools.count()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for the cache, that is used."""
    place = tmp_path / "cache"
    monkeypatch.setenv("DUALREV_CACHE_DIR", str(place))
    return place


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("DUALREV_CACHE_DIR", raising=False)


@pytest.fixture
def emitted(monkeypatch):
    """The functions that the compiler was asked for, by their names."""
    names, emit = [], emission.emit

    def noted(f, *rest):
        names.append(f.py_func.__name__)
        return emit(f, *rest)

    monkeypatch.setattr(emission, "emit", noted)
    return names


def cell(text, **names):
    """Run a text as a notebook cell: Python can find its lines."""
    file = f"<ipython-input-{next(numbers)}-test>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    namespace = {"__name__": "cells", "njit": njit, "np": np, **names}
    exec(compile(text, file, "exec"), namespace)
    return namespace


SQUARE = "@njit\ndef f(x, y=2.0):\n    return x * x * y\n"
CUBE = "@njit\ndef f(x, y=2.0):\n    return x * x * x * y\n"


@njit
def scaled(x, by=2.0, n=1):
    s = 0.0
    for _ in range(n):
        s += by * x * x
    return s


@njit
def refused(x):
    return x


@njit
def uses_refused(x):
    return np.nextafter(refused(x), 2.0)


# A numba function


def test_it_is_called_like_the_function():
    d = derivative(scaled, "grad", 0)
    assert isinstance(d, Derivative)
    assert isinstance(d, numba.core.registry.CPUDispatcher)
    assert [d(1.5), d(1.5, 3.0), d(1.5, n=2), d(n=2, x=1.5, by=1.0)] == approx([6.0, 9.0, 12.0, 6.0])
    assert derivative(scaled, "value_and_grad", 1)(1.5, 3.0) == approx((6.75, 2.25))
    with pytest.raises(TypeError):
        d()
    with pytest.raises(TypeError):
        d(1.0, z=2.0)


def test_njit_code_calls_it():
    d = derivative(scaled, "grad", 0)

    @njit
    def descend(x):
        for _ in range(3):
            x -= 0.1 * d(x, n=1, by=1.0)
        return x + 0.0 * d(x)

    assert descend(1.0) == approx(0.8**3)


def test_njit_code_takes_it_as_an_argument():
    @njit
    def apply(k, x):
        return k(x)

    assert apply(derivative(scaled, "grad", 0), 1.5) == approx(6.0)


def test_it_says_what_it_is():
    d = derivative(scaled, "grad", 0)
    assert (d.__name__, d.__wrapped__) == ("grad_scaled", scaled)
    assert str(inspect.signature(d)) == "(x, by=2.0, n=1)"
    assert repr(d) == "<dualrev.grad of scaled, compiled>"
    assert repr(derivative(scaled, "hessian", (0, 1))) == "<dualrev.hessian of scaled, argnums=(0, 1), compiled>"
    assert repr(derivative(d, "grad", 0)) == "<dualrev.grad of <dualrev.grad of scaled, compiled>, compiled>"
    assert "`grad` of `scaled`" in d.__doc__
    assert str(inspect.signature(derivative(scaled, "vjp", 0))) == "(x, by, n, cotangent)"
    assert str(inspect.signature(derivative(scaled, "jvp", 0))) == "(x, by, n, tangent_x, tangent_by, tangent_n)"


def test_its_python_function_is_the_tapes():
    assert derivative(scaled, "grad", 0).py_func(1.5, 3.0, 2) == approx(18.0)
    assert derivative(scaled, "vjp", 0).py_func(1.5, 3.0, 2, 1.0)[0] == approx(18.0)
    assert derivative(scaled, "jvp", 0).py_func(1.5, 3.0, 2, 1.0, 0.0, None)[1] == approx(18.0)


def test_one_object_for_one_derivative(emitted):
    f = cell(SQUARE)["f"]
    assert [derivative(f, "grad", 0)(x) for x in [1.0, 2.0, 3.0]] == approx([4.0, 8.0, 12.0])
    assert emitted == ["f"]
    assert derivative(f, "grad", 0) is derivative(f, "grad", 0)
    assert len({derivative(f, *which) for which in [("grad", 0), ("grad", 1), ("grad", (0,)), ("vjp", 0)]}) == 4


def test_copies_and_pickles_are_the_same_object():
    d = derivative(scaled, "grad", 0)
    assert copy.copy(d) is copy.deepcopy(d) is d
    assert pickle.loads(pickle.dumps(d)) is pickle.loads(numba.cloudpickle.dumps(d)) is d


def test_threads_compile_once(emitted):
    f = cell(SQUARE)["f"]
    found = {}

    def work(k):
        found[k] = derivative(f, "grad", 0)(float(k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == approx({k: 4.0 * k for k in range(6)})
    assert emitted == ["f"]


def test_declared_signatures_are_those_of_the_derivative():
    declared = njit("float64(float64, float64)")(cell(SQUARE)["f"].py_func)
    d = derivative(declared, "grad", 0)
    assert [d(3, 2.0), d(3.0, 2)] == approx([12.0, 12.0])
    assert d.signatures == [(float64, float64)]
    with pytest.raises(TypingError, match="No matching definition"):
        d("x", 2.0)


def test_an_error_reaches_the_caller_and_the_next_call_works():
    d = derivative(uses_refused, "grad", 0)
    for _ in range(2):
        with pytest.raises(dualrev.errors.UnsupportedError) as caught:
            d(1.0)
        assert len(caught.traceback) <= 3
    assert derivative(scaled, "grad", 0)(1.5) == approx(6.0)


def test_an_error_reaches_the_caller_of_njit_code():
    d = derivative(uses_refused, "grad", 0)

    @njit
    def caller(x):
        return d(x)

    with pytest.raises(TypingError, match="UnsupportedError: "):
        caller(1.0)


def test_without_a_cache_the_emitted_text_can_still_be_read():
    d = derivative(cell(SQUARE)["f"], "grad", 0)
    d(1.0)
    (made,) = d._entries.values()
    assert "def " in inspect.getsource(made.py_func)
    assert made.py_func.__code__.co_filename.startswith("<dualrev grad_f ")


def test_recompiling_takes_the_new_global():
    names = cell("K = 2.0\n@njit\ndef f(x):\n    return K * x\n")
    d = derivative(names["f"], "grad", 0)
    assert d(1.0) == approx(2.0)
    names["K"] = 3.0
    assert d(1.0) == approx(2.0)  # frozen, as in numba
    names["f"].recompile()
    d.recompile()
    assert d(1.0) == approx(3.0)


def test_it_goes_with_its_function():
    f = cell(SQUARE).pop("f")  # a global of its own would keep it, in numba too
    d = derivative(f, "grad", 0)
    d(1.0)
    entry = next(iter(d._entries.values()))
    file = entry.py_func.__code__.co_filename
    assert file in linecache.cache
    gone = [weakref.ref(x) for x in (f, d, entry)]
    del f, d, entry
    gc.collect()
    assert [x() for x in gone] == [None, None, None]
    assert file not in linecache.cache


# What the fingerprint covers


def the_hash(text, *which, names=None, argtypes=(float64,)):
    digest, obstacle = fingerprint(cell(text, **(names or {}))["f"], *(which or ("grad", 0)), argtypes)
    assert not obstacle
    return digest


def closure(k):
    return "def make(k):\n    @njit\n    def f(x):\n        return k * x\n    return f\nf = make(" + k + ")\n"


CALLEE = "@njit\ndef g(x):\n    return x * {0}\n@njit\ndef f(x):\n    return g(x)\n"
GLOBAL = "K = {0}\n@njit\ndef f(x):\n    return K * x\n"
INNER = "K = {0}\n@njit\ndef f(x):\n    return x * {1}\n"
DIFFERENT = {
    "text": (SQUARE, CUBE),
    "callee": (CALLEE.format("2.0"), CALLEE.format("3.0")),
    "global": (GLOBAL.format("2.0"), GLOBAL.format("3.0")),
    "type of a global": (GLOBAL.format("2.0"), GLOBAL.format("2")),
    "closure": (closure("2.0"), closure("3.0")),
    "array": (closure("np.array([1.0, 2.0])"), closure("np.array([1.0, 3.0])")),
    "dtype": (closure("np.zeros(2)"), closure("np.zeros(2, np.int64)")),
    "layout": (closure("np.zeros((2, 2))"), closure("np.zeros((2, 2)).T")),
    "function": (closure("njit(lambda x: 2 * x)"), closure("njit(lambda x: 3 * x)")),
    "python function": (closure("lambda x: 2 * x"), closure("lambda x: 3 * x")),
    "default": (SQUARE, SQUARE.replace("2.0", "3.0")),
    "options": (SQUARE, SQUARE.replace("@njit", "@njit(fastmath=True)")),
    "set of options": (SQUARE.replace("@njit", "@njit(fastmath={'nsz'})"), SQUARE.replace("@njit", "@njit")),
    "list comprehension": (
        INNER.format("2.0", "[K for _ in range(3)][0]"),
        INNER.format("3.0", "[K for _ in range(3)][0]"),
    ),
    "generator": (INNER.format("2.0", "sum(K for _ in range(3))"), INNER.format("3.0", "sum(K for _ in range(3))")),
    "inner function": (INNER.format("2.0", "(lambda: K)()"), INNER.format("3.0", "(lambda: K)()")),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_different_functions_have_different_fingerprints(case):
    one, other = DIFFERENT[case]
    assert the_hash(one) == the_hash(one) != the_hash(other) == the_hash(other)


def test_attributes_of_modules_and_classes_are_covered():
    text = "@njit\ndef f(x):\n    return module.inner.g(x) * Options.scale\n"

    def world(g, scale):
        inner = types.ModuleType("inner")
        inner.g, inner.unrelated = cell(CALLEE.format(g))["f"], object()
        module = types.ModuleType("module")
        module.inner = inner
        return {"module": module, "Options": type("Options", (), {"scale": scale})}

    first = the_hash(text, names=world("2.0", 1.0))
    assert first == the_hash(text, names=world("2.0", 1.0))
    assert len({first, the_hash(text, names=world("3.0", 1.0)), the_hash(text, names=world("2.0", 2.0))}) == 3


def test_an_attribute_is_not_mistaken_for_a_global_of_its_name():
    text = "@njit\ndef f(x):\n    return x.real\n"
    assert the_hash(text, names={"real": object()}) == the_hash(text)


def test_recursion_comes_to_an_end():
    even = "@njit\ndef f(x):\n    return g(x - 1) if x > 0 else {0}\n@njit\ndef g(x):\n    return f(x - 1)\n"
    assert the_hash(even.format(1.0)) == the_hash(even.format(1.0)) != the_hash(even.format(2.0))


def test_the_derivative_that_is_asked_for_is_covered():
    asked = [("grad", 0), ("grad", (0,)), ("grad", 1), ("value_and_grad", 0)]
    hashes = {the_hash(SQUARE, *which) for which in asked}
    hashes |= {the_hash(SQUARE, argtypes=(t,)) for t in [float64[:], float64[::1], numba.types.Omitted(1.0)]}
    passed = [cell(text)["f"] for text in [SQUARE, CUBE]]
    hashes |= {the_hash(SQUARE, argtypes=(numba.typeof(g),)) for g in passed}
    assert len(hashes) == 9


PASSED = """
@njit
def wave(u):
    return u * 0.5
@njit
def square(u):
    return u * u
@njit
def apply({parameters}):
    return {value} / 3.0
@njit(error_model="numpy")
def h(u):
    return apply({given})
@njit
def f(x):
    return apply({given}) + square(wave(x)) if x > 0.0 else h(x)
"""
APPLIED = {
    "function": ("g, u", "g(u)", "wave, u"),
    "tuple with a function": ("g, u", "g[0](u)", "(wave, 2.0), u"),
    "default": ("u, g=wave", "g(u)", "u"),
    "numba's function": ("g, u", "g(u)", "np.sign, u"),
    "a Python function of numpy's": ("g, u", "g(u * np.ones(2))", "np.sum, u"),
    "inner function": ("g, u", "g(u)", "lambda w: w * 0.5, u"),
}


def applied(case):
    """The text of functions that pass a function to another one."""
    return PASSED.format(**dict(zip(["parameters", "value", "given"], APPLIED[case], strict=True)))


@pytest.mark.filterwarnings("ignore:First-class function type")
@pytest.mark.parametrize("case", APPLIED)
def test_a_function_as_an_argument_is_not_hashed_by_its_address(case):
    """Compiled with the error model of its caller, what takes it had a type in the hash that no other process has."""
    found = []
    for _ in range(2):
        made = cell(applied(case))
        made["h"](0.5)
        assert made["apply"].overloads
        found.append(fingerprint(made["f"], "grad", 0, (float64,)))
    assert found[0] == found[1]
    assert not found[0][1]


@pytest.mark.parametrize(
    ("case", "one", "other"), [("function", "wave", "square"), ("numba's function", "np.sign", "np.abs")]
)
def test_the_functions_that_another_one_takes_under_another_error_model_are_in_the_hash(case, one, other):
    found = {the_hash(applied(case))}
    for passed in (one, other):
        made = cell(applied(case))
        exec(f"njit(error_model='numpy')(lambda u: apply({passed}, u))(0.5)", made)
        found.add(fingerprint(made["f"], "grad", 0, (float64,))[0])
    assert len(found) == 3


@pytest.mark.parametrize("wanted", ["inline=cost", "[numba.float64(numba.typeof(g), numba.float64)]"])
def test_options_and_signatures_that_hold_functions_are_not_hashed_by_address(wanted):
    text = (
        "def cost(*_):\n    return {0}\n@njit\ndef g(x):\n    return x * {1}\n"
        "@njit(" + wanted + ")\ndef apply(g, x):\n    return g(x)\n"
        "@njit\ndef f(x):\n    return apply(g, x)\n"
    )
    one, callee, same = text.format(False, 2.0), text.format(False, 3.0), text.format(False, 2.0)
    names = {"numba": numba}
    assert the_hash(one, names=names) == the_hash(same, names=names) != the_hash(callee, names=names)
    other = the_hash(text.format(True, 2.0), names=names)
    assert (other != the_hash(one, names=names)) == ("cost" in wanted)


def test_what_has_no_text_is_an_obstacle():
    f = cell(GLOBAL.format("{}"))["f"]
    assert fingerprint(f, "grad", 0, ())[1] == "a value of type builtins.dict"
    names = {"njit": njit}
    exec(compile(SQUARE, "<kept by nobody>", "exec"), names)  # Python 3.13 keeps the text of some f of "<string>"
    assert fingerprint(names["f"], "grad", 0, ())[1] == "f, whose source cannot be found"


# The files


def files(folder):
    return sorted(folder.glob("*.py"))


def test_a_second_definition_finds_the_first_ones_file(folder, emitted):
    for text in [SQUARE, CUBE, SQUARE, CUBE]:
        d = derivative(cell(text)["f"], "grad", 0)
        assert d(2.0) == approx(8.0 if text == SQUARE else 24.0)
    assert emitted == ["f", "f"]
    assert sum(d.stats.cache_hits.values()) == 1
    assert [file.name[:7] for file in files(folder)] == ["grad_f_", "grad_f_"]
    assert not list(folder.glob("*.tmp"))


def test_functions_as_arguments_are_found_again(folder, emitted):
    apply = "@njit\ndef f(k, x):\n    return k(x)\n"
    for text in [SQUARE, CUBE, SQUARE]:
        d = derivative(cell(apply)["f"], "grad", 1)
        assert d(cell(text)["f"], 2.0) == approx(8.0 if text == SQUARE else 24.0)
    assert len(emitted) == 2
    assert sum(d.stats.cache_hits.values()) == 1


@pytest.mark.parametrize("damage", [lambda t: t + "x = 1\n", lambda t: "raise SystemError\n" + t, lambda t: t[:-9]])
def test_a_damaged_file_is_written_anew(folder, emitted, damage):
    derivative(cell(SQUARE)["f"], "grad", 0)(1.0)
    (file,) = files(folder)
    text = file.read_text()
    file.write_text(damage(text))
    assert derivative(cell(SQUARE)["f"], "grad", 0)(2.0) == approx(8.0)
    assert emitted == ["f", "f"]
    assert file.read_text() == text


def kept_in(place):
    """Return the folder that the cache uses if DUALREV_CACHE_DIR is `place`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUALREV_CACHE_DIR", str(place))
        return store.folder_for(scaled)


def test_a_file_under_another_name_is_not_run(folder):
    kept = kept_in(folder)
    module = store.CachedModule("x = 1\n", "f", {"g": (("global", "g"), ("arg", 0))})
    assert kept.write("a.py", module.to_bytes())
    assert store.CachedModule.from_bytes(kept.read("a.py")) == module
    os.rename(folder / "a.py", folder / "b.py")
    assert kept.read("b.py") is None


@pytest.mark.parametrize("damage", [lambda t: t[:20], lambda t: b"", lambda t: t + b"\n", lambda t: pickle.dumps(1)])
def test_damaged_machine_code_is_compiled_anew(folder, damage, emitted):
    derivative(cell(SQUARE)["f"], "grad", 0)(1.0)
    (file,) = folder.glob("*.nbc")
    content = file.read_bytes()
    file.write_bytes(damage(content))
    for hits in (0, 1):
        d = derivative(cell(SQUARE)["f"], "grad", 0)
        assert d(2.0) == approx(8.0)
        assert sum(d.stats.cache_hits.values()) == hits
    assert emitted == ["f"]


def test_an_obstacle_is_said_and_nothing_is_kept(folder, monkeypatch):
    text = "@njit\ndef f(x):\n    return x * x if K is None else x\n"
    f = cell(text, K=None)["f"]
    f.py_func.__globals__["K"] = numba.typed.List([1.0])
    emit, other = emission.emit, cell(SQUARE)["f"]
    monkeypatch.setattr(emission, "emit", lambda f, *rest: emit(other, rest[0], 0, (float64, float64)))
    d = derivative(f, "grad", 0)
    with pytest.warns(RuntimeWarning, match=r"grad_f is not cached: it depends on a value of type numba\.typed"):
        d._load((float64,))
    assert not files(folder)


def test_a_folder_that_cannot_be_made_is_said(folder):
    folder.write_text("a file")
    with pytest.warns(RuntimeWarning, match="derivatives are not cached in"):
        assert store.folder_for(scaled) is None


def test_a_user_that_is_not_there_is_said(monkeypatch):
    """DUALREV_CACHE_DIR=~nosuchuser/x raised RuntimeError."""
    monkeypatch.setenv("DUALREV_CACHE_DIR", "~nosuchuser/x")
    with pytest.warns(RuntimeWarning, match="derivatives are not cached in ~nosuchuser"):
        assert store.folder_for(scaled) is None


def test_functions_with_a_cache_go_to_the_users_folder(tmp_path, monkeypatch):
    import platformdirs

    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *a, **k: tmp_path / "mine")
    assert store.folder_for(scaled) is None
    assert store.folder_for(njit(cache=True)(scaled.py_func)).place == (tmp_path / "mine").resolve()


def test_constants_are_found_by_their_paths():
    g = cell(CALLEE.format("2.0"))["f"]
    f = cell("def make(table):\n    return njit(lambda x: module.g(table[1]))\nf = make((1.0, 2.5))", module=types)["f"]
    assert store.resolve(f, (), ()) is f
    assert store.resolve(f, (), (("closure", "table"), ("item", 1))) == 2.5
    assert store.resolve(f, (), (("global", "module"), ("attr", "ModuleType"))) is types.ModuleType
    assert store.resolve(g, (), (("global", "g"),)) is g.py_func.__globals__["g"]
    assert store.resolve(f, (float64, numba.typeof(g)), (("arg", 1), ("global", "g"))) is g.py_func.__globals__["g"]


# What docs/numba/options.md promises of the folder

posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners are POSIX's")
root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can act for another user")
NOBODY = 65534


@pytest.fixture
def open_umask():
    """A umask that gives everybody every right."""
    before = os.umask(0)
    yield
    os.umask(before)


def filled(folder):
    """A folder with a derivative; its files."""
    assert derivative(cell(CALLEE.format("2.0"))["f"], "grad", 0)(1.0) == approx(2.0)
    return sorted(folder.iterdir())


@posix
def test_all_that_is_made_is_the_users_own_whatever_the_umask(tmp_path, monkeypatch, open_umask):
    """numba's __pycache__ had mode 0777, and the folders above ours, too."""
    folder = tmp_path / "above" / "cache"
    monkeypatch.setenv("DUALREV_CACHE_DIR", str(folder))
    found = filled(folder)
    assert [file.suffix for file in found] == [".nbc", ".py", ""]
    assert {file.stat().st_mode for file in found} == {0o100600}
    assert {place.stat().st_mode for place in (folder, folder.parent)} == {0o40700}
    assert {path.stat().st_uid for path in (folder, folder.parent, *found)} == {os.geteuid()}


@posix
def test_a_folder_that_others_may_write_to_is_not_used(folder, emitted):
    kept = filled(folder)
    folder.chmod(0o770)
    with pytest.warns(RuntimeWarning, match=r"not cached in .*others may write to it \(mode 770\)"):
        assert derivative(cell(CUBE)["f"], "grad", 0)(2.0) == approx(24.0)
    assert sorted(folder.iterdir()) == kept


@posix
def test_the_folder_of_another_user_is_not_used(folder, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345678)
    with pytest.warns(RuntimeWarning, match="it belongs to another user"):
        assert store.folder_for(scaled) is None


class Payload:
    """Makes a file when it is unpickled."""

    def __init__(self, file):
        self.file = str(file)

    def __reduce__(self):
        return os.mkdir, (self.file,)


def exchanged(folder, mark, *, seal=True):
    """Put code that leaves a mark in the place of the derivative's, with the right seal or without one."""
    kept = kept_in(folder)
    for file in filled(folder):
        content = b"import os\nos.mkdir(%r)\n" % str(mark) if file.suffix == ".py" else pickle.dumps(Payload(mark))
        if file.suffix:
            file.write_bytes(kept._sealed(file.name, content) if seal else content + file.read_bytes()[-75:])


def test_what_does_not_match_its_seal_is_neither_run_nor_unpickled(folder, tmp_path, emitted):
    exchanged(folder, tmp_path / "mark", seal=False)
    filled(folder)
    assert emitted == ["f", "f"]
    assert not (tmp_path / "mark").exists()
    exchanged(folder, tmp_path / "mark")  # with the key, it would be
    with pytest.raises(ValueError, match=r"not enough values|Expecting value"):
        filled(folder)
    (next(folder.glob("*.py"))).unlink()
    filled(folder)
    assert (tmp_path / "mark").exists()


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_to_is_not_used(folder, tmp_path, mode):
    exchanged(folder, tmp_path / "mark")
    for file in folder.glob("*.*"):
        file.chmod(mode)
    with pytest.warns(RuntimeWarning, match=rf"is not used: others may write to it \(mode {mode:o}\)"):
        filled(folder)
    assert not (tmp_path / "mark").exists()
    assert {file.stat().st_mode for file in folder.iterdir()} == {0o100600}


@posix
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_of_its_own_is_not_used(folder, tmp_path, kind):
    exchanged(folder, tmp_path / "mark")
    for file in folder.glob("*.*"):
        file.rename(tmp_path / file.name)
        if kind == "link":
            file.symlink_to(tmp_path / file.name)
        elif kind == "pipe":
            os.mkfifo(file, 0o600)
        else:
            file.mkdir(0o700)
    with pytest.warns(RuntimeWarning, match=r"is not used: |is not cached: .* directory"):
        filled(folder)
    assert not (tmp_path / "mark").exists()


@posix
def test_a_key_that_others_may_read_is_made_anew(folder, emitted):
    filled(folder)
    key = (folder / "key").read_bytes()
    (folder / "key").chmod(0o640)
    filled(folder)
    assert emitted == ["f", "f"]
    assert (folder / "key").read_bytes() != key
    assert (folder / "key").stat().st_mode == 0o100600
    filled(folder)
    assert len(emitted) == 2


def test_processes_that_begin_at_once_have_one_key(folder):
    barrier, keys = threading.Barrier(8), []

    def work():
        barrier.wait()
        keys.append(store._key(folder))

    folder.mkdir(0o700)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(keys) == {(folder / "key").read_bytes()}
    assert [file.name for file in folder.iterdir()] == ["key"]


def test_a_key_that_another_process_made_meanwhile_is_taken(folder, monkeypatch):
    folder.mkdir(0o700)
    read, others = store._read, []

    def late(file):
        """Read a file, then let another process write, so that the result is stale."""
        found = read(file)
        if not others:
            others.append(b"")
            others.append(store._key(folder))
        return found

    monkeypatch.setattr(store, "_read", late)
    assert store._key(folder) == others[1] == (folder / "key").read_bytes()


def test_files_are_written_in_one_step(folder, monkeypatch):
    """Somebody who reads sees the old content until the new one is complete; what fails leaves nothing."""
    kept, seen, replace = kept_in(folder), [], os.replace
    kept.write("a.py", b"old")

    def replaced(*names):
        seen.append(kept.read("a.py"))
        replace(*names)

    monkeypatch.setattr(os, "replace", replaced)
    kept.write("a.py", b"new")
    assert seen == [b"old"]
    assert kept.read("a.py") == b"new"

    def full(*names):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="a derivative is not cached: no space left"):
        assert not kept.write("a.py", b"newer")
    assert kept.read("a.py") == b"new"
    assert sorted(file.name for file in folder.iterdir()) == ["a.py", "key"]


def as_nobody(*actions):
    """Run actions in a forked process as the user nobody, and return their results."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        done = []
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            for action in actions:
                try:
                    done.append(repr(action()))
                except PermissionError:
                    done.append("denied")
        finally:
            os.write(writing, json.dumps(done).encode())
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with open(reading) as answer:
        return json.loads(answer.read())


@pytest.fixture
def shared():
    """A folder where everybody may go, and write."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)
        yield Path(place)


@root
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_another_user_can_neither_read_nor_write_what_is_kept(shared, monkeypatch, open_umask):
    folder = shared / "cache"
    monkeypatch.setenv("DUALREV_CACHE_DIR", str(folder))
    found = filled(folder)
    actions = [lambda: os.listdir(folder), lambda: (folder / "new").write_text("")]
    for file in found:
        actions += [lambda f=file: f.read_bytes(), lambda f=file: f.write_bytes(b""), lambda f=file: f.unlink()]
    assert as_nobody(lambda: 1, *actions) == ["1", *["denied"] * len(actions)]


@root
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("mode", [0o700, 0o755, 0o777])
def test_a_folder_that_another_user_has_made_is_not_used(shared, monkeypatch, mode):
    """A cache folder is not used if another user has made it, whatever its mode."""
    folder = shared / "cache"
    assert as_nobody(lambda: folder.mkdir(), lambda: folder.chmod(mode)) == ["None", "None"]
    monkeypatch.setenv("DUALREV_CACHE_DIR", str(folder))
    with pytest.warns(RuntimeWarning, match="it belongs to another user"):
        assert derivative(cell(SQUARE)["f"], "grad", 0)(2.0) == approx(8.0)
    assert not list(folder.iterdir())


def test_a_read_only_folder_is_read(folder, monkeypatch, emitted):
    """Derivatives are loaded from it; one warning in a process says that new ones are not kept."""
    assert derivative(cell(SQUARE)["f"], "grad", 0)(3.0) == approx(12.0)
    before = files(folder)
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    assert derivative(cell(SQUARE)["f"], "grad", 0)(3.0) == approx(12.0)
    assert emitted == ["f"]
    store._warn_read_only.cache_clear()
    with pytest.warns(RuntimeWarning, match="new derivatives are not cached: .* is read-only"):
        assert derivative(cell(CUBE)["f"], "grad", 0)(3.0) == approx(54.0)
    assert derivative(cell(CUBE)["f"], "value_and_grad", 0)(3.0) == (approx(54.0), approx(54.0))
    assert files(folder) == before


@root
def test_files_of_another_user_are_not_used(folder, tmp_path):
    """Root ran what another user had put there; without a word."""
    exchanged(folder, tmp_path / "mark")
    for file in folder.iterdir():
        os.chown(file, NOBODY, NOBODY)
    with pytest.warns(RuntimeWarning, match="is not used: it belongs to another user"):
        filled(folder)
    assert not (tmp_path / "mark").exists()
    assert {file.stat().st_uid for file in folder.iterdir()} == {0}


def flips(content, count=150):
    """Copies of a file with one bit flipped: at the ends, and at places drawn from all of it."""
    draw = random.Random(len(content))
    places = {*range(min(20, len(content))), *range(max(0, len(content) - 80), len(content))}
    places |= {draw.randrange(len(content)) for _ in range(count)}
    for place in sorted(places):
        damaged = bytearray(content)
        damaged[place] ^= 1 << draw.randrange(8)
        yield bytes(damaged)


def test_every_flipped_bit_of_every_file_is_noticed(folder):
    """Every flipped bit of every file is found. (Of 30 in machine code, 7 changed numbers, 7 crashed, one hung.)"""
    found, count = filled(folder), 0
    for file in found:
        content = file.read_bytes()
        for damaged in flips(content):
            file.write_bytes(damaged)
            kept = kept_in(folder)
            assert [kept.read(x.name) for x in found if x.suffix and "key" in (file.name, x.name)] in ([], [None, None])
            assert file.name == "key" or kept.read(file.name) is None
            count += 1
        file.write_bytes(content)
        assert all(kept_in(folder).read(x.name) is not None for x in found if x.suffix)
    assert count > 400


# Other processes

USER = """
from numba import njit
from dualrev.compiler.bridge.make_dispatcher import derivative
K = 3.0

@njit
def g(x):
    return x * x * K

@njit(nogil=True)
def f(x, y=2.0):
    return g(x) * y

df = derivative(f, "grad", 0)

@njit(cache=True)
def caller(x):
    return df(x) + 1.0
"""
MAIN = """
import json, multiprocessing, sys

from dualrev.compiler.driver import emit as emission
emit, emitted = emission.emit, []
emission.emit = lambda *args: emitted.append(1) or emit(*args)
import user

def work(x):
    return user.df(x), len(emitted), sum(user.df.stats.cache_hits.values())

if __name__ == "__main__":
    found = [work(1.5)]
    for method in sys.argv[1:]:
        with multiprocessing.get_context(method).Pool(1) as pool:
            found += pool.map(work, [2.5]) + pool.map(user.df, [2.5])
    print(json.dumps(found))
"""


def run(place, *args, user=USER, main=MAIN, own_interpreter=False, **variables):
    """What main.py prints in another process. With its own interpreter, sets and memory have their own order."""
    for name, text in [("user", user), ("main", main)]:
        file = place / f"{name}.py"
        if not file.exists() or file.read_text() != text:  # some versions of numba look at its time
            file.write_text(text)
    if own_interpreter:
        paths = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}
        command = [sys.executable, "-W", "error", "main.py", *args]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    else:
        done = run_program("main.py", *args, cwd=place, **variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_another_process_reuses_what_was_compiled_and_changes_are_seen(tmp_path):
    where = {"DUALREV_CACHE_DIR": str(tmp_path / "cache"), "own_interpreter": True}
    assert run(tmp_path, **where) == [[approx(18.0), 1, 0]]
    assert run(tmp_path, **where) == [[approx(18.0), 0, 1]]
    assert run(tmp_path, user=USER.replace("x * x * K", "x * K"), **where) == [[approx(6.0), 1, 0]]
    assert run(tmp_path, user=USER.replace("K = 3.0", "K = 4.0"), **where) == [[approx(24.0), 1, 0]]


def test_another_process_notices_a_flipped_bit(tmp_path):
    """Another process that finds a flipped bit compiles again, and repairs the cache for the next one."""
    where = {"DUALREV_CACHE_DIR": str(tmp_path / "cache")}
    run(tmp_path, **where)
    for suffix, emitted, hits in ((".nbc", 0, 0), (".py", 1, 1), ("", 1, 0)):
        (file,) = (file for file in (tmp_path / "cache").iterdir() if file.suffix == suffix)
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 4
        file.write_bytes(content)
        assert run(tmp_path, **where) == [[approx(18.0), emitted, hits]]
        assert run(tmp_path, **where) == [[approx(18.0), 0, 1]]


RECURSIVE = """
from numba import njit
from dualrev.compiler.bridge.make_dispatcher import derivative

@njit
def power(x, n):
    if n <= 0:
        return 1.0
    return x * power(x, n - 1)

@njit
def even(x, n):
    return x if n <= 0 else odd(x * x, n - 1)

@njit
def odd(x, n):
    return 2.0 * x if n <= 0 else 3.0 * even(x, n - 1)

@njit
def outside(k):
    return power(k, 3)

@njit
def f(x, k):
    return power(x, 5) * outside(k) + even(x, 3)

df = derivative(f, "value_and_grad", 0)
"""


@pytest.mark.skipif(numba.version_info.short < (0, 62), reason="LLVM's pointers have types: such code is not kept")
def test_recursive_functions_are_loaded_in_another_process(tmp_path):
    """Numba's own cache loses where a recursive call leads to: the second process ended with a segmentation fault."""
    where = {"DUALREV_CACHE_DIR": str(tmp_path / "cache"), "own_interpreter": True}
    main = (
        "import json, user\ny = user.df(1.5, 2.0)\n"
        "print(json.dumps([*y, sum(user.df.stats.cache_hits.values()), user.f(1.5, 2.0)]))\n"
    )
    value = 8.0 * 1.5**5 + 6.0 * 1.5**4
    slope = 40.0 * 1.5**4 + 24.0 * 1.5**3
    for hits in (0, 1, 1):
        assert run(tmp_path, user=RECURSIVE, main=main, **where) == approx([value, slope, hits, value], rel=1e-14)


SAME_NAMES = """
import json, sys
from numba import njit
from dualrev.compiler.bridge.make_dispatcher import derivative

def make(k):
    @njit
    def g(y):
        if y < 0.5:
            return 0.0
        return g(y - 1.0) + k + g(y - 1.0)  # not copied into its caller

    @njit
    def f(x, y):
        return g(y) * x

    return f

f, other = make(2.0), make(3.0)
df = derivative(f, "value_and_grad", 0)
found = []
for what in sys.argv[1:]:
    found.append({"df": lambda: df(1.0, 1.0)[0], "other": lambda: other(1.0, 1.0)}[what]())
print(json.dumps([*found, sum(df.stats.cache_hits.values())]))
"""


@pytest.mark.parametrize("order", [("other", "df"), ("df", "other")])
def test_loaded_code_is_not_mixed_up_with_functions_of_this_process(tmp_path, order):
    """Numba numbers functions in the order in which it compiles them: the one g had the name of the other one."""
    where = {"DUALREV_CACHE_DIR": str(tmp_path / "cache")}
    assert run(tmp_path, "df", main=SAME_NAMES, **where) == [2.0, 0]
    values = {"df": 2.0, "other": 3.0}
    assert run(tmp_path, *order, main=SAME_NAMES, **where) == [*map(values.get, order), 1]


MODELS = """
from numba import njit
from dualrev.compiler.bridge.make_dispatcher import derivative

@njit
def inverse(y):
    return 1.0 / y

@njit
def f(x, y):
    return inverse(y) * x

df = derivative(f, "grad", 0)
"""


def test_a_function_that_loaded_code_calls_keeps_its_error_model(tmp_path):
    """Without machine code it is compiled for emitted code, which has numpy's: and so for every other caller."""
    where = {"DUALREV_CACHE_DIR": str(tmp_path / "cache")}
    main = (
        "import json, user\nfound = [user.df(1.0, 2.0)]\n"
        "for f in (user.df, user.f):\n"
        "    try:\n        found.append(f(1.0, 0.0))\n"
        "    except ZeroDivisionError:\n        found.append('raised')\n"
        "print(json.dumps(found))\n"
    )
    for _ in range(2):
        assert run(tmp_path, user=MODELS, main=main, **where) == [0.5, "raised", "raised"]
        for file in (tmp_path / "cache").rglob("*.nb?"):
            file.unlink()


def test_a_large_global_array_is_not_kept(tmp_path):
    user = (
        "import numpy as np\nfrom numba import njit\nfrom dualrev.compiler.bridge.make_dispatcher import derivative\n"
        "TABLE = np.arange(200_000.0)\n"
        "@njit\ndef f(x, k):\n    return TABLE[k] * x * x\n"
        "df = derivative(f, 'grad', 0)\n"
    )
    main = (
        "import json, warnings, user\n"
        "with warnings.catch_warnings(record=True) as said:\n"
        "    warnings.simplefilter('always')\n    y = user.df(1.5, 7)\n"
        "print(json.dumps([y, [str(x.message).split(': ')[0] for x in said]]))\n"
    )
    where = {"DUALREV_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        assert run(tmp_path, user=user, main=main, **where) == [21.0, ["the machine code of grad_f is not cached"]]


def test_spawned_and_forked_workers_reuse_it(tmp_path):
    methods = ["spawn", "forkserver", "fork"] if sys.platform == "linux" else ["spawn"]
    where = {"DUALREV_CACHE_DIR": str(tmp_path / "cache"), "own_interpreter": True}
    found = run(tmp_path, *methods, **where)
    assert found[:3] == [[approx(18.0), 1, 0], [approx(30.0), 0, 1], approx(30.0)]
    assert [x if isinstance(x, float) else x[0] for x in found[3:]] == approx([30.0] * 2 * (len(methods) - 1))


def test_a_cached_caller_is_loaded_without_the_derivative(tmp_path):
    main = "import json, user\nprint(json.dumps([user.caller(1.5), len(user.df.signatures)]))\n"
    where = {"NUMBA_CACHE_DIR": str(tmp_path / "numba"), "own_interpreter": True}  # numba reads it at its import
    assert run(tmp_path, main=main, **where) == [approx(19.0), 1]
    assert run(tmp_path, main=main, **where) == [approx(19.0), 0]


def test_pickles_carry_the_derivative_to_another_process(tmp_path):
    """And the text that it was compiled from: that process has no source."""
    d = derivative(cell("@njit\ndef f(x):\n    return K * x * x\n", K=1.5)["f"], "grad", 0)
    assert d(2.0) == 6.0
    (tmp_path / "d.pickle").write_bytes(pickle.dumps(d))
    main = (
        "import json, pathlib, pickle\nd = pickle.loads(pathlib.Path('d.pickle').read_bytes())\n"
        "import numpy\ntry:\n    d(numpy.float32(2.0))\nexcept Exception as error:\n    said = str(error)\n"
        "print(json.dumps([d.__name__, d.derivative_of[1:], d.derivative_of[0](2.0), d(4.0), said]))\n"
    )
    *found, said = run(tmp_path, main=main)
    assert found == ["grad_f", ["grad", 0], 6.0, 12.0]
    assert "its source code cannot be found" in said


def test_a_key_that_cannot_be_read_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_read", lambda file: None)
    with pytest.raises(OSError, match="cannot be read"):
        store._key(tmp_path)
