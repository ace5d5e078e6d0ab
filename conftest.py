"""Which examples in docstrings run: those whose packages are there."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("dask") else ["dualrev/dask.py"]
