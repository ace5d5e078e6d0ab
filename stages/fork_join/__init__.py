"""Fork and join, for programs whose parts run on threads: the support code of `stages/d4_parallel.py`."""
