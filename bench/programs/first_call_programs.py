"""All programs of `bench/first_calls.py`, by kind and name: those with long first calls, and ordinary ones."""

from __future__ import annotations

from bench.programs.first_call_engineering import ENGINEERING
from bench.programs.first_call_flows import FLOWS
from bench.programs.first_call_loops import LOOPS
from bench.programs.first_call_models import MODELS
from bench.programs.first_call_program import Program
from bench.programs.first_call_sequences import SEQUENCES
from bench.programs.first_call_short import SHORT
from bench.programs.first_call_sky import SKY

__all__ = ["EVERY", "ORDINARY", "SLOW"]

SLOW: dict[str, Program] = FLOWS | ENGINEERING | SKY | SEQUENCES | MODELS
ORDINARY: dict[str, Program] = LOOPS | SHORT
EVERY: dict[str, Program] = SLOW | ORDINARY
