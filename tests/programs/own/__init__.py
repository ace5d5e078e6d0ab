"""Programs that are not in the corpus, and the dual numbers that check them (tests/stages/test_own_programs.py)."""

from programs.own import control, data
from programs.own.dual import Dual
from programs.own.functions import CASES

__all__ = ["CASES", "Dual", "control", "data"]
