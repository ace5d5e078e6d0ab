"""Derivatives of numba functions as numba functions, and their cache: dualrev/compiler/{build,cache,fingerprint}.py."""

import copy
import gc
import inspect
import itertools
import json
import linecache
import os
import pickle
import subprocess
import sys
import threading
import types
import weakref
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import float64, njit
from numba.core.errors import TypingError

import dualrev.errors
from dualrev.compiler import cache, pipeline
from dualrev.compiler.build import Derivative, derivative
from dualrev.compiler.fingerprint import fingerprint

ROOT = Path(__file__).resolve().parent.parent

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
    names, emit = [], pipeline.emit

    def noted(f, *rest):
        names.append(f.py_func.__name__)
        return emit(f, *rest)

    monkeypatch.setattr(pipeline, "emit", noted)
    return names


def cell(text, **names):
    """What a notebook does: run the text, and let Python find its lines."""
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
    return np.linalg.svd(np.full((2, 2), refused(x)))[1][0]


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
    assert repr(d) == f"<dualrev grad of {scaled!r} by argument 0, compiled>"
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
    "inner": ("@njit\ndef f(x):\n    return [K for _ in range(3)][0] * x\nK = 1.0", GLOBAL.format("1.0")),
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


def test_what_has_no_text_is_an_obstacle():
    f = cell(GLOBAL.format("{}"))["f"]
    assert fingerprint(f, "grad", 0, ())[1] == "a value of type builtins.dict"
    names = {"njit": njit}
    exec(SQUARE, names)
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


def test_a_file_under_another_name_is_not_run(folder):
    module = cache.Module("x = 1\n", "f", {"g": (("global", "g"), ("arg", 0))})
    folder.mkdir()
    assert cache.write(folder / "a.py", module)
    assert cache.read(folder / "a.py") == module
    os.rename(folder / "a.py", folder / "b.py")
    assert cache.read(folder / "b.py") is None


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_damaged_machine_code_is_compiled_anew(folder, kind):
    derivative(cell(SQUARE)["f"], "grad", 0)(1.0)
    damaged = list(folder.glob(f"__pycache__/*.{kind}"))
    assert damaged
    for file in damaged:
        file.write_bytes(file.read_bytes()[:20])
    assert derivative(cell(SQUARE)["f"], "grad", 0)(2.0) == approx(8.0)
    d = derivative(cell(SQUARE)["f"], "grad", 0)
    assert d(2.0) == approx(8.0)
    assert sum(d.stats.cache_hits.values()) == 1


def test_an_obstacle_is_said_and_nothing_is_kept(folder, monkeypatch):
    text = "@njit\ndef f(x):\n    return x * x if K is None else x\n"
    f = cell(text, K=None)["f"]
    f.py_func.__globals__["K"] = numba.typed.List([1.0])
    emit, other = pipeline.emit, cell(SQUARE)["f"]
    monkeypatch.setattr(pipeline, "emit", lambda f, *rest: emit(other, rest[0], 0, (float64, float64)))
    d = derivative(f, "grad", 0)
    with pytest.warns(RuntimeWarning, match=r"grad_f is not cached: it depends on a value of type numba\.typed"):
        d._load((float64,))
    assert not files(folder)


@pytest.mark.skipif(os.name != "posix", reason="modes and owners are POSIX's")
def test_the_folder_is_the_users_own(folder, emitted):
    derivative(cell(SQUARE)["f"], "grad", 0)(1.0)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)
    with pytest.warns(RuntimeWarning, match=r"not cached in .*others may write to it \(mode 770\)"):
        assert derivative(cell(CUBE)["f"], "grad", 0)(2.0) == approx(24.0)
    assert len(files(folder)) == 1


@pytest.mark.skipif(os.name != "posix", reason="modes and owners are POSIX's")
def test_the_folder_of_another_user_is_not_used(folder, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 12345678)
    with pytest.warns(RuntimeWarning, match="it belongs to another user"):
        assert cache.folder_for(scaled) is None


def test_a_folder_that_cannot_be_made_is_said(folder):
    folder.write_text("a file")
    with pytest.warns(RuntimeWarning, match="derivatives are not cached in"):
        assert cache.folder_for(scaled) is None


def test_functions_with_a_cache_go_to_the_users_folder(tmp_path, monkeypatch):
    import platformdirs

    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *a, **k: tmp_path / "mine")
    assert cache.folder_for(scaled) is None
    assert cache.folder_for(njit(cache=True)(scaled.py_func)) == (tmp_path / "mine").resolve()


def test_constants_are_found_by_their_paths():
    g = cell(CALLEE.format("2.0"))["f"]
    f = cell("def make(table):\n    return njit(lambda x: module.g(table[1]))\nf = make((1.0, 2.5))", module=types)["f"]
    assert cache.resolve(f, (), ()) is f
    assert cache.resolve(f, (), (("closure", "table"), ("item", 1))) == 2.5
    assert cache.resolve(f, (), (("global", "module"), ("attr", "ModuleType"))) is types.ModuleType
    assert cache.resolve(g, (), (("global", "g"),)) is g.py_func.__globals__["g"]
    assert cache.resolve(f, (float64, numba.typeof(g)), (("arg", 1), ("global", "g"))) is g.py_func.__globals__["g"]


# Other processes

USER = """
from numba import njit
from dualrev.compiler.build import derivative
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

from dualrev.compiler import pipeline
emit, emitted = pipeline.emit, []
pipeline.emit = lambda *args: emitted.append(1) or emit(*args)
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


def run(place, *args, user=USER, main=MAIN, **variables):
    for name, text in [("user", user), ("main", main)]:
        file = place / f"{name}.py"
        if not file.exists() or file.read_text() != text:  # some versions of numba look at its time
            file.write_text(text)
    paths = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}
    done = subprocess.run(
        [sys.executable, "-W", "error", "main.py", *args], cwd=place, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_another_process_reuses_what_was_compiled_and_changes_are_seen(tmp_path):
    where = {"DUALREV_CACHE_DIR": str(tmp_path / "cache")}
    assert run(tmp_path, **where) == [[approx(18.0), 1, 0]]
    assert run(tmp_path, **where) == [[approx(18.0), 0, 1]]
    assert run(tmp_path, user=USER.replace("x * x * K", "x * K"), **where) == [[approx(6.0), 1, 0]]
    assert run(tmp_path, user=USER.replace("K = 3.0", "K = 4.0"), **where) == [[approx(24.0), 1, 0]]


def test_spawned_and_forked_workers_reuse_it(tmp_path):
    methods = ["spawn", "fork"] if sys.platform == "linux" else ["spawn"]
    where = {"DUALREV_CACHE_DIR": str(tmp_path / "cache")}
    found = run(tmp_path, *methods, **where)
    assert found[:3] == [[approx(18.0), 1, 0], [approx(30.0), 0, 1], approx(30.0)]
    assert [x if isinstance(x, float) else x[0] for x in found[3:]] == approx([30.0] * 2 * (len(methods) - 1))


def test_a_cached_caller_is_loaded_without_the_derivative(tmp_path):
    main = "import json, user\nprint(json.dumps([user.caller(1.5), len(user.df.signatures)]))\n"
    where = {"NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    assert run(tmp_path, main=main, **where) == [approx(19.0), 1]
    assert run(tmp_path, main=main, **where) == [approx(19.0), 0]


def test_pickles_carry_the_derivative_to_another_process(tmp_path):
    d = derivative(cell("@njit\ndef f(x):\n    return K * x * x\n", K=1.5)["f"], "grad", 0)
    (tmp_path / "d.pickle").write_bytes(pickle.dumps(d))
    main = (
        "import json, pathlib, pickle\nd = pickle.loads(pathlib.Path('d.pickle').read_bytes())\n"
        "print(json.dumps([d.__name__, d.derivative_of[1:], d.derivative_of[0](2.0)]))\n"
    )
    assert run(tmp_path, main=main) == ["grad_f", ["grad", 0], 6.0]
