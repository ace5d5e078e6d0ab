"""Fork and join, for programs whose parts run on threads: what `stages/d4_parallel.py` stands on."""
