"""Tape plan: to-be-recorded (TBR) analysis, and the choice between taping a value and recomputing it."""
