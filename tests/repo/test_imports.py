"""The architecture, read from the sources: who may import whom, what a stage file looks like, where exceptions live."""

import ast
import builtins
import functools
import graphlib
import importlib
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dualrev
from dualrev import errors

ROOT = Path(__file__).resolve().parents[2]
OPTIONAL = {"dask", "jax", "torch", "pytensor", "nutpie", "casadi", "cyipopt"}  # each has a module, which imports it
LIBRARY = sorted((ROOT / "dualrev").rglob("*.py"))
AROUND_STAGES = sorted((ROOT / "stages").rglob("*.py"))
STAGES = sorted((ROOT / "stages").glob("d[1-4]_*.py"))

#: The common skeleton. A stage has some of these, in this order; other names may stand between them.
SKELETON = ["Dual", "Staged", "zero", "plus", "apply", "alloc", "factor", "call", "one_hot", "resolve"]
SKELETON += ["constant", "op", "interleave", "deinterleave", "vjp"]


def name(path):
    return str(path.relative_to(ROOT))


#: Where a statement holds others: an import or a class stands in no expression.
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def parsed(path):
    """The syntax tree of a file: large, so that nothing keeps it."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def found_in(path, for_types=True):
    """The import statements of a file, and its classes: the name of each with the names of its bases.

    Those inside of functions are among them, those under `if TYPE_CHECKING:` only if they are asked for.
    """
    imports, classes, todo = [], [], [parsed(path)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and not for_types and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
            continue
        todo += [inner for block in BLOCKS for inner in getattr(node, block, ())]
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(node)
        elif isinstance(node, ast.ClassDef):
            bases = {base.id if isinstance(base, ast.Name) else getattr(base, "attr", "") for base in node.bases}
            classes.append((node.name, bases))
    return imports, classes


@functools.cache
def imported(path, for_types=True):
    """The modules that a file imports, as a reader would name them: `from a import b` may mean a.b or the b in a."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    found = set()
    for node in found_in(path, for_types)[0]:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, [base, node.module]))
            for alias in node.names:
                whole = f"{module}.{alias.name}"
                found.add(whole if is_module(whole) else module)
    return found


def dotted(path):
    """Return the module name of a file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def imports_within(package):
    """Return the imports of every module within a package, at the top and inside of functions."""
    files = sorted((ROOT / package).rglob("*.py"))
    graph = {dotted(path): imported(path) for path in files}
    return {module: {other for other in found if top([other]) == {package}} for module, found in graph.items()}


@functools.cache
def is_module(dotted):
    path = ROOT.joinpath(*dotted.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def top(modules):
    return {module.split(".")[0] for module in modules}


def top_level_names(path):
    names = []
    for node in parsed(path).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return names


def test_there_is_something_to_check():
    assert len(STAGES) == 10
    assert {"dualrev/eager/numbers/overload.py", "dualrev/tree.py"} <= set(map(name, LIBRARY))


def test_the_library_imports_nothing_that_is_built_on_it():
    above = {"stages", "bench", "paper_figures", "tests", "examples", "tools"}
    assert not [name(path) for path in LIBRARY if top(imported(path)) & above]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.py")), ids=name)
def test_the_examples_import_what_users_import(path):
    ours = {found for found in imported(path) if found.split(".")[0] == "dualrev"}
    assert all(
        found == "dualrev" or found.startswith(("dualrev.interop.", "dualrev.ode", "dualrev.scipy.")) for found in ours
    )
    assert not top(imported(path)) & {"stages", "bench", "paper_figures", "tests"}


def test_only_the_public_functions_import_the_compiler():
    """And it has no say in what the tape does."""
    outside = [path for path in LIBRARY if not name(path).startswith("dualrev/compiler/")]
    users = {name(path) for path in outside if any(found.startswith("dualrev.compiler") for found in imported(path))}
    assert users == {
        "dualrev/__init__.py",
        "dualrev/api/derivatives.py",
        "dualrev/api/checkpointing.py",
        "dualrev/api/report.py",
        "dualrev/cuda/accesses.py",
        "dualrev/cuda/disjoint_accesses.py",
        "dualrev/cuda/arguments.py",
        "dualrev/cuda/conditions.py",
        "dualrev/cuda/derive_kernel.py",
        "dualrev/cuda/emit_kernel.py",
        "dualrev/cuda/one_thread.py",
        "dualrev/cuda/indices.py",
        "dualrev/cuda/launch.py",
        "dualrev/cuda/forward_slice.py",
        "dualrev/cuda/phases.py",
        "dualrev/cuda/prepare.py",
        "dualrev/cuda/races.py",
        "dualrev/cuda/readers.py",
        "dualrev/cuda/distinct_indices.py",
        "dualrev/cuda/thread_function.py",
        "dualrev/cuda/divergence.py",
        "dualrev/cuda/winners.py",
        "dualrev/dask.py",
        "dualrev/implicit/solution.py",
        "dualrev/ode/compiling.py",
        "dualrev/api/vmap.py",
        "dualrev/warm.py",
    }


@pytest.mark.parametrize("package", ["dualrev", "stages", "bench"])
def test_no_module_needs_itself(package):
    """No imports form a cycle, not even deferred ones inside of functions."""
    graph = imports_within(package)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1][::-1]))


def test_imports_inside_of_functions_are_seen():
    assert "dualrev.compiler.bridge.api" in imported(ROOT / "dualrev" / "api" / "derivatives.py", for_types=False)


def upwards(rooms, part, folder):
    """The imports from a room to one above it; each module and folder has to be in a room."""
    floors = {name: floor for floor, room in enumerate(rooms) for name in room}
    assert sorted(floors) == sorted({x.relative_to(folder).parts[0].split(".")[0] for x in folder.rglob("*.py")})

    def floor(module):
        names = [*module.split("."), "__init__"]
        return floors[names[part]]

    inside = ".".join(folder.relative_to(ROOT).parts)
    return {
        (module, other)
        for module, found in imports_within("dualrev").items()
        for other in found
        if f"{module}.".startswith(f"{inside}.") and f"{other}.".startswith(f"{inside}.")
        if floor(other) > floor(module)
    }


def test_rooms_import_from_themselves_and_from_those_below():
    """Tables and tools that know no derivative; Python functions; numba functions; what users call; other libraries."""
    rooms = [
        ["_version", "errors", "diagnostics", "transformed", "rules"],
        ["eager", "pytree", "tree", "math", "numpy", "outputs"],
        ["compiler"],
        ["api", "cuda", "implicit", "ode", "scipy", "sparse", "dask", "warm", "__init__"],
        ["interop"],
    ]
    assert not upwards(rooms, 1, ROOT / "dualrev")


def test_so_do_the_rooms_of_the_compiler():
    """On the way of the data; what is called from Python comes last."""
    rooms = [
        ["__init__", "types"],
        ["runtime"],
        ["ir"],
        ["frontend"],
        ["scalarize"],
        ["analysis"],
        ["optimize"],
        ["ad", "parallel"],
        ["codegen"],
        ["entrypoints"],
        ["driver"],
        ["bridge"],
    ]
    assert not upwards(rooms, 2, ROOT / "dualrev" / "compiler")


ROOMS = sorted(path for path in (ROOT / "dualrev" / "compiler").iterdir() if (path / "__init__.py").is_file())


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_says_which_of_its_modules_other_rooms_import(room):
    """All others are its own affair: they may change without a look outside."""
    prefix = f"dualrev.compiler.{room.name}."
    graph = imports_within("dualrev")
    outside = {
        found for module, all_found in graph.items() if not f"{module}.".startswith(prefix) for found in all_found
    }
    doors = {found for found in outside if found.startswith(prefix)}
    doc = " ".join(ast.get_docstring(parsed(room / "__init__.py")).split())
    listed = re.search(r"Other rooms import ([^.]*)\.", doc).group(1).split(", ")
    assert listed == sorted(door.removeprefix(prefix).replace(".", "/") for door in doors)


def test_the_rules_import_no_engine():
    rules = [path for path in LIBRARY if name(path).startswith("dualrev/rules/")]
    wrong = {(name(path), found) for path in rules for found in imported(path) if "dualrev.rules" not in found}
    assert rules
    assert not {(path, found) for path, found in wrong if found.startswith("dualrev.")}


def test_the_stages_import_nothing_that_is_built_on_them():
    assert not [name(path) for path in AROUND_STAGES if top(imported(path)) & {"bench", "paper_figures", "tests"}]


def test_of_the_library_the_stages_use_its_lower_half_and_its_public_names():
    lower = {
        f"dualrev.{module}"
        for module in [
            *("eager.numbers.overload", "rules.primitives", "tree", "errors", "math"),
            *("diagnostics.signatures", "diagnostics.user_instructions", "diagnostics.user_lines"),
        ]
    }
    found = {
        (name(path), module) for path in AROUND_STAGES for module in imported(path) if top([module]) == {"dualrev"}
    }
    assert not {(path, module) for path, module in found if module not in lower | {"dualrev"}}


def test_the_stages_take_only_public_names_from_the_library():
    for path in AROUND_STAGES:
        for node in found_in(path)[0]:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dualrev"):
                assert not [alias.name for alias in node.names if alias.name.startswith("_")], name(path)


@pytest.mark.parametrize("path", STAGES, ids=name)
def test_no_stage_imports_another_one(path):
    assert {module for module in imported(path) if module.split(".")[0] == "stages"} <= {
        "stages.ordered_map",
        "stages.pairs",
        "stages.fork_join.atomic",
        "stages.fork_join.jobs",
        "stages.fork_join.threads",
    }


@pytest.mark.parametrize("path", STAGES, ids=name)
def test_a_stage_fits_on_two_screens(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 140


@pytest.mark.parametrize("path", STAGES, ids=name)
def test_a_stage_opens_with_its_four_fields(path):
    text = ast.get_docstring(parsed(path)) or ""
    fields = re.findall(r"^(Paper:|D\[R\] =|Changed:|Cost:) +\S", text, re.MULTILINE)
    assert fields == ["Paper:", "D[R] =", "Changed:", "Cost:"]


@pytest.mark.parametrize("path", STAGES, ids=name)
def test_a_stage_keeps_the_common_order_of_names(path):
    present = [found for found in top_level_names(path) if found in SKELETON]
    assert present == sorted(set(present), key=SKELETON.index)
    assert {"Dual", "constant", "op", "interleave", "deinterleave", "vjp"} <= set(present)


@pytest.mark.parametrize("path", STAGES, ids=name)
def test_every_public_name_of_a_stage_says_what_it_is(path):
    for node in parsed(path).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            assert ast.get_docstring(node), node.name


def test_exceptions_are_defined_in_errors_only():
    known = {kind for kind, cls in vars(builtins).items() if isinstance(cls, type) and issubclass(cls, BaseException)}
    known |= set(errors.__all__)
    for path in LIBRARY:
        for cls, bases in found_in(path)[1]:
            assert name(path) == "dualrev/errors.py" or not bases & known, (name(path), cls)


def test_every_exception_class_at_run_time_is_listed_in_errors():
    found = set()
    for module in pkgutil.walk_packages(dualrev.__path__, "dualrev."):
        if module.name.endswith("__main__"):
            continue  # importing it would run it
        library = module.name.removeprefix("dualrev.").removeprefix("interop.")
        if library in OPTIONAL and not importlib.util.find_spec(library):
            continue
        for cls in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(cls) and issubclass(cls, BaseException) and cls.__module__.startswith("dualrev"):
                found |= {(cls.__module__, cls.__name__)} if not cls.__name__.startswith("_") else set()
    assert found == {("dualrev.errors", listed) for listed in errors.__all__ if listed != "explain"}


#: Names that numpy has deprecated, and may be without soon.
DEPRECATED = ("fix", "typename", "chararray")

WITHOUT = f"""
import numba, pkgutil, importlib
import numpy as np
numba.core.registry.cpu_target.typing_context.refresh()
for name in {DEPRECATED}:
    vars(np).pop(name, None)
    np.__all__ = [x for x in np.__all__ if x != name]
import dualrev as dr
for module in pkgutil.walk_packages(dr.__path__, "dualrev."):
    if ".interop." not in module.name:
        importlib.import_module(module.name)
assert not hasattr(np, "fix")
print(dr.grad(lambda x: np.sum(x * x + np.trunc(x)))(np.array([1.5, 2.0])).tolist())
print(dr.grad(lambda x: np.sum((x * 1j).imag))(np.ones(1)).tolist())
from dualrev.rules.functions import canonical
print(canonical(np.trunc), canonical(np.sum))
"""


def test_names_that_numpy_will_remove_are_not_needed():
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "[3.0, 4.0]\n[1.0]\nnp.trunc np.sum\n", done.stderr


def test_numbas_dicts_are_not_loaded_by_the_compiler():
    """Loaded early, their overloads of getitem would be tried at each index of an array: that takes typing time."""
    code = (
        "import sys, dualrev.compiler.bridge.api; print(*[x for x in sys.modules if x.startswith('numba.typed.dict')])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "\n", done.stderr + done.stdout


def test_what_users_import_is_there():
    """Each name that the pages, the README or an example imports from the library; and the public modules."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    found = [
        (module, x.split(" as ")[0].strip())
        for module, names in re.findall(r"from (dualrev[\w.]*) import ([\w, ]+)", text)
        for x in names.split(",")
    ]
    assert {("dualrev", "math"), ("dualrev.scipy", "optimize"), ("dualrev.implicit", "attach")} <= set(found)
    for module, x in found:
        assert is_module(f"{module}.{x}") or hasattr(importlib.import_module(module), x), f"{module}.{x}"
    for public in ("errors", "tree", "math", "numpy", "scipy", "sparse", "implicit", "interop"):
        assert importlib.import_module(f"dualrev.{public}").__doc__
    assert is_module("dualrev.dask")


#: The three languages of the compiler have nodes of one name: ANF, core, and the lines of emitted text.
LANGUAGES = ("ir/anf/", "ir/core/", "codegen/lines.py")


def test_a_class_of_the_compiler_has_a_name_of_its_own():
    """A name of a class is used once in the compiler, so that a search finds one class."""
    compiler = ROOT / "dualrev" / "compiler"
    found = {}
    for path in sorted(compiler.rglob("*.py")):
        place = path.relative_to(compiler).as_posix()
        language = next((x for x in LANGUAGES if place.startswith(x)), "")
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(language or place)
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert not {name: places for name, places in twice.items() if not {*places} <= {*LANGUAGES}}
    assert all(len(places) == len({*places}) for places in twice.values())
