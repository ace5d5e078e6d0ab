"""Text of the user's in generated code: paths, names, docstrings, comments and messages that would end a literal."""

import ast
import linecache
import math
import os
import subprocess
import sys
import unicodedata
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from fuzzing.running import imported
from hypothesis import given
from hypothesis import strategies as st
from numba import float64, njit
from numba.experimental import jitclass

import dualrev as dr
from dualrev.diagnostics import quoting
from dualrev.implicit import custom_root

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = sorted((ROOT / "dualrev").rglob("*.py"))
#: What would end a docstring, a comment or a string early, and then be run.
RUNS = 'a""";open(\'made\',\'w\');"""b \'c{x}{0}%s#\\U0001\\N{x}'
COMMENT = f"# {RUNS} \u202e\f\u2028\x85\x1c\u00a0 # needs {{}} \\"
NAMES = [RUNS, "class", "ﬁt", "a·b{k}"]

PROGRAM = r'''# coding: utf-8
import math
from collections import namedtuple
import numpy as np
from numba import njit, objmode, prange
import dualrev as dr

Pair = namedtuple("Pair", "a b")

@njit(cache=True)
def inner(x):  ~
    r{3}inner \N{x} ~
    {3}
    return math.sin(x) * x  ~

@njit(cache=True)
def f(x, y):  ~
    r{3}f ~
    \U
    {3}
    z = inner(x) * y  ~
    if z > 1e9:  ~
        raise ValueError("a\"b'{x}\\n %s \u202e", 3)  ~
    assert z > -1e9, "{y}\"\\"
    for i in range(3):  ~
        z = z * x  ~
    return z

@njit
def vector(v):  ~
    w = np.zeros_like(v)
    for i in range(len(v)):  ~
        w[i] = v[i] * v[i] * v[0]  ~
    return w

@njit(parallel=True)
def parallel(v):  ~
    s = 0.0
    for i in prange(len(v)):  ~
        s += v[i] * v[i]  ~
    return s

@njit
def step(k, x, c):  ~
    return x + c * x * x  ~

@njit
def fields(p, r):  ~
    return p.a * p.b * p.b * r["b\"c{x}"]  ~

@njit
def writes(v, out):  ~
    for i in range(len(v)):
        out[i] = v[i] ** 2  ~

@njit
def of_complex(z):  ~
    return (z * z).real  ~

@njit
def of_list(x):  ~
    return x[0] ** 2 + x[1]  ~

@njit
def itself(x, n):  ~
    return x if n == 0 else itself(x, n - 1) * x  ~

@njit
def cubed(x):  ~
    return x * x * x

@njit
def forward(x):  ~
    return x * x * x, x

@njit
def backward(x, ct):  ~
    return (3.0 * x * x * ct,)

ruled = dr.custom_vjp(cubed)
ruled.defvjp(forward, backward)

@njit
def calls_rule(x):  ~
    return ruled(x) * x  ~

@njit
def inside(x):  ~
    return dr.grad(f)(x, 2.0) + dr.jvp(f, (x, 2.0), (1.0, 0.0))[1]  ~

@njit
def texts(x, tape):  ~
    words = tape + 1
    found = {"a\"{x}": 1}  ~
    found["b'\\"] = words  ~
    with objmode(top="int64"):  ~
        ct = f"{words} '{words}' \"{{tape}}\" \\ \N{BULLET}\n" + """
 {words}"""
        top = len(ct) - 26 + words
    return x * x * len(found) * top  ~
'''.replace("~", COMMENT).replace("{3}", "'''")


def folder_in(place):
    """A folder whose name has what a file system takes."""
    for name in (f"{RUNS}\n\r\u202e\udcff\\", RUNS.replace('"', "").replace("\\", "")):
        try:
            (place / name).mkdir()
        except (OSError, ValueError):
            continue
        return place / name
    raise AssertionError("the file system takes neither name")


pytestmark = pytest.mark.filterwarnings("ignore::numba.NumbaPendingDeprecationWarning")  # of lists


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    file = folder_in(tmp_path_factory.mktemp("quoting")) / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return imported(file)


@pytest.fixture(autouse=True)
def nothing_runs(tmp_path, monkeypatch):
    """Whatever stands in the text, none of it is run."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not (tmp_path / "made").exists()


X, Y, V = 0.7, 1.3, np.array([1.0, 2.0, 3.0])
SLOPE = Y * (math.cos(X) * X**4 + 4.0 * X**3 * math.sin(X))
CURVE = Y * (-math.sin(X) * X**4 + 8.0 * X**3 * math.cos(X) + 12.0 * X**2 * math.sin(X))
JACOBIAN = np.diag(2.0 * V * V[0]) + np.outer(V * V, [1.0, 0.0, 0.0])
RECORD = np.array([(3.0,)], dtype=[('b"c{x}', float)])[0]


def loop(m):
    slope, x, d = dr.grad(dr.checkpoint(m.step, loop=2), argnums=1)(5, 0.3, 0.1), 0.3, 1.0
    for _ in range(5):
        x, d = x + 0.1 * x * x, d * (1.0 + 0.2 * x)
    return slope / d


#: What is called, and its answer.
CALLS = {
    "grad": (lambda m: dr.grad(m.f)(X, Y), SLOPE),
    "value_and_grad": (lambda m: dr.value_and_grad(m.f)(X, Y)[1], SLOPE),
    "vjp": (lambda m: dr.vjp(m.f, X, Y)[1](1.0)[0], SLOPE),
    "jvp": (lambda m: dr.jvp(m.f, (X, Y), (1.0, 0.0))[1], SLOPE),
    "hvp": (lambda m: dr.hvp(m.f)(X, 1.0, Y), CURVE),
    "hessian": (lambda m: dr.hessian(m.f)(X, Y), CURVE),
    "jacfwd": (lambda m: dr.jacfwd(m.vector)(V), JACOBIAN),
    "jacrev": (lambda m: dr.jacrev(m.vector)(V), JACOBIAN),
    "sparse_jacobian": (lambda m: dr.sparse_jacobian(m.vector)(V).toarray(), JACOBIAN),
    "sparse_hessian": (lambda m: dr.sparse_hessian(m.parallel)(V).toarray(), 2.0 * np.eye(3)),
    "parallel": (lambda m: dr.grad(m.parallel)(V), 2.0 * V),
    "vmap": (lambda m: dr.vmap(dr.grad(m.f))(np.full(2, X), np.full(2, Y)), [SLOPE, SLOPE]),
    "lift": (lambda m: dr.grad(lambda x: dr.lift(m.f)(x, Y))(X), SLOPE),
    "checkpoint": (lambda m: dr.grad(dr.checkpoint(m.f))(X, Y), SLOPE),
    "loop": (loop, 1.0),
    "fields": (lambda m: dr.grad(m.fields)(m.Pair(2.0, 3.0), RECORD), [27.0, 36.0]),
    "records": (lambda m: dr.grad(m.fields, 1)(m.Pair(2.0, 3.0), RECORD)['b"c{x}'], 18.0),
    "outputs": (lambda m: dr.vjp(m.writes, V, np.zeros(3), outputs=1)[1](np.ones(3))[0], 2.0 * V),
    "complex": (lambda m: dr.grad(m.of_complex)(1.0 + 2.0j).real, 2.0),
    "lists": (lambda m: dr.grad(m.of_list)([3.0, 1.0]), [6.0, 1.0]),
    "recursion": (lambda m: dr.grad(m.itself)(2.0, 2), 12.0),
    "rule": (lambda m: dr.grad(m.calls_rule)(2.0), 32.0),
    "rule forward": (lambda m: dr.jvp(m.calls_rule, (2.0,), (1.0,))[1], 32.0),
    "inside": (lambda m: m.inside(X), 2.0 * SLOPE * 2.0 / Y),
}


@pytest.mark.parametrize("call", CALLS)
def test_no_text_is_run_and_every_transform_answers(written, call):
    run, wanted = CALLS[call]
    np.testing.assert_allclose(np.asarray(run(written), dtype=float), wanted, rtol=1e-12)


def test_text_that_a_function_has_itself_stays_what_it_is(written):
    value = written.texts(2.0, 3)
    assert (dr.value_and_grad(written.texts)(2.0, 3)) == (value, value)


def test_emitted_text_says_what_the_literals_say(written):
    for stage in ("lowered", "expanded", "forward", "reverse"):
        assert dr.derivative_source(written.texts, X, 3, stage=stage)
    text = dr.derivative_source(written.f, X, Y)
    strings = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    assert {"a\"b'{x}\\n %s \u202e", '{y}"\\'} <= {x for x in strings if isinstance(x, str)}
    assert all(c.isprintable() or c in "\n" for c in text)
    assert "z = inner(x) * y  # a" in text
    with pytest.raises(ValueError) as error:  # noqa: PT011 - its text is compared
        dr.grad(written.f)(1e5, 1e9)
    assert error.value.args == ("a\"b'{x}\\n %s \u202e", 3)


def test_the_cache_holds_such_text_and_another_process_loads_it(written, tmp_path):
    place = folder_in(tmp_path)
    program = "import sys, dualrev as dr; from fuzzing.running import imported; from pathlib import Path\n"
    program += f"m = imported(Path({written.__file__!r})); print(dr.grad(m.f)({X}, {Y}))\n"
    program += f"print(dr.jvp(m.f, ({X}, {Y}), (1.0, 0.0))[1], dr.grad(m.f).stats.cache_hits.total())"
    environment = {**os.environ, "DUALREV_CACHE_DIR": str(place), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    said = []
    for _ in range(2):
        command = [sys.executable, "-W", "error", "-c", program]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        said.append([float(x) for x in done.stdout.split()])
    np.testing.assert_allclose(said, [[SLOPE, SLOPE, 0], [SLOPE, SLOPE, 1]], rtol=1e-12)
    assert all(file.name.isascii() for file in place.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_a_function_may_be_called_anything(name):
    def f(x):
        return x * x * x

    def step(k, x):
        return x * x

    def writes(x, out):
        out[0] = x * x

    for g in (f, step, writes):
        g.__name__ = g.__qualname__ = name
    g = njit(f)
    assert dr.grad(g)(2.0) == dr.jvp(g, (2.0,), (1.0,))[1] == 12.0
    assert dr.grad(dr.checkpoint(njit(step), loop=1), argnums=1)(2, 2.0) == 32.0
    np.testing.assert_array_equal(dr.vmap(g)(np.array([1.0, 2.0])), [1.0, 8.0])
    assert dr.vjp(njit(writes), 3.0, np.zeros(1), outputs=1)[1](np.ones(1))[0] == 6.0


@pytest.mark.parametrize("name", NAMES)
def test_a_solver_may_be_called_anything(name):
    def residual(x, a):
        return x * x - a

    def solver(start, a):
        return math.sqrt(a)

    residual.__name__ = solver.__name__ = residual.__qualname__ = solver.__qualname__ = name
    solve = custom_root(njit(residual))(njit(solver))

    @njit
    def root(a):
        return solve(1.0, a)

    assert abs(dr.grad(root)(4.0) - 0.25) < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_so_may_classes_and_fields(name):
    class Thing:
        def __init__(self, a):
            self.a = a

        def squared(self):
            return self.a * self.a

    pair = namedtuple("pair", "a b")
    failed = type("Failed", (Exception,), {})
    for cls in (Thing, pair, failed):
        cls.__name__ = cls.__qualname__ = name
    thing = jitclass([("a", float64)])(Thing)
    record = np.dtype([(name, float)])

    @njit
    def f(x, p, o):
        q = pair(p.a * x, p.b)
        if x < 0.0:
            raise failed("{x}")
        return q.a * q.b * thing(x).squared() * o.squared()

    assert dr.grad(f)(2.0, pair(2.0, 3.0), thing(1.0)) == 72.0
    assert tuple(dr.grad(f, 1)(2.0, pair(2.0, 3.0), thing(1.0))) == (24.0, 16.0)
    assert tuple(dr.grad(f, 2)(2.0, pair(2.0, 3.0), thing(1.0))) == (96.0,)
    with pytest.raises(failed):
        dr.grad(f)(-2.0, pair(2.0, 3.0), thing(1.0))
    g = njit(of_text(f"def g(r):\n    return r[0][{name!r}] ** 2\n", f"<{name}>", "g"))
    assert dr.grad(g)(np.full(1, 3.0).view(record))[name][0] == 6.0


def of_text(text, file, name):
    """A function of a text that stands where Python looks for lines, as a notebook's cell does."""
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space = {"np": np, "njit": njit, "math": math}
    exec(compile(text, file, "exec"), space)
    return space[name]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_where_python_ends_them(tmp_path, end):
    text = "from numba import njit\n@njit\ndef f(x):\n    # \f \x1c \u2028 \x85 two\n    y = x * x  # é\n"
    text += "\f\n    return y\n"
    file = tmp_path / "ends.py"
    code = "utf-8" if end == "\r" else "latin-1"  # with the first, Python finds no second line to look for a code in
    file.write_bytes((f"# coding: {code}\n" + text.replace("\u2028", "")).replace("\n", end).encode(code))
    notebook = njit(of_text(text.removeprefix("from numba import njit\n@njit\n"), f"<cell {end!r}>", "f"))
    for f in (imported(file).f, notebook):
        assert dr.grad(f)(3.0) == 6.0
        assert "y = x * x  # y = x * x  # é" in dr.derivative_source(f, 3.0)


def test_names_of_every_script(tmp_path):
    text = """from numba import njit
@njit
def कार्य(हिन्दी, ताप):
    गति = हिन्दी * हिन्दी
    a·b = गति * ताप
    a = 2.0
    b = a·b * a
    for क्रम in range(3):
        b = b * हिन्दी
        a·b = a·b + b
    return a·b * a

@njit
def outer(ﬁ, ª):
    ᵢ = कार्य(ﬁ, ª)
    return ᵢ * कार्य(ª, ﬁ)
"""
    file = tmp_path / "scripts.py"
    file.write_text(text, encoding="utf-8")
    f, h = imported(file).outer, 1e-6
    slope = (f(1.1 + h, 0.7) - f(1.1 - h, 0.7)) / (2.0 * h)
    assert abs(dr.grad(f)(1.1, 0.7) / slope - 1.0) < 1e-8
    curve = (dr.grad(f)(1.1 + h, 0.7) - dr.grad(f)(1.1 - h, 0.7)) / (2.0 * h)
    assert abs(dr.hessian(f)(1.1, 0.7) / curve - 1.0) < 1e-8


def test_parameters_may_have_the_names_of_what_is_around_them():
    @njit
    def f(function, dualrev, argnums, gradient):
        return function * dualrev * argnums * gradient

    assert dr.grad(f)(2.0, 3.0, 4.0, 5.0) == dr.grad(f).py_func(2.0, 3.0, 4.0, 5.0) == 60.0


# The functions that write such text

ANY = st.text(st.characters(), max_size=30) | st.text('"\\\n{}#', max_size=8)


@given(ANY)
def test_a_docstring_is_a_literal(text):
    made = ast.parse(quoting.docstring(text)).body[0].value
    assert isinstance(made, ast.Constant)
    assert made.value.replace("\n\n    ", "\n\n") == text


@given(ANY)
def test_a_comment_is_one(text):
    (statement,) = ast.parse(f"x = 1  {quoting.comment(text)}\n").body
    assert ast.unparse(statement) == "x = 1"
    assert len(quoting.comment(text).splitlines()) == 1


@given(ANY)
def test_an_identifier_is_one(text):
    name = quoting.identifier(text, "f")
    assert ast.parse(f"def {name}(): pass").body[0].name == name
    assert name == ("f" if name == "f" else unicodedata.normalize("NFKC", text))


@given(ANY)
def test_a_message_is_a_literal(text):
    made = ast.parse(quoting.raising("ValueError", text).format()).body[0]
    assert ast.literal_eval(made.exc.args[0]) == text


def test_generated_code_is_run_and_quoted_in_one_place():
    """No other module runs text, or puts quotes of docstrings, quotes of messages or signs of comments around some."""
    for path in LIBRARY:
        if path.name == "quoting.py" or "rules" in path.parts:  # the rules have no text of the user's
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            place = path, getattr(node, "lineno", 0)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "exec", place
            if isinstance(node, ast.JoinedStr):
                parts = [part.value for part in node.values if isinstance(part, ast.Constant)]
                assert not any('"""' in part for part in parts), place
                assert not (parts and parts[0].startswith(("#", "raise ")) and '("' in parts[0]), place
