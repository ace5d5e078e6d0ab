"""Which examples in docstrings run: those whose packages are there."""

import importlib.util

BRIDGES = ("jax", "torch", "pytensor", "nutpie", "casadi", "cyipopt")
OPTIONAL = {"dask": "dualrev/dask.py"} | {name: f"dualrev/interop/{name}.py" for name in BRIDGES}

collect_ignore = [path for name, path in OPTIONAL.items() if not importlib.util.find_spec(name)]
