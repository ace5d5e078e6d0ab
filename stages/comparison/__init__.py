"""The step-by-step comparison of the stages: counts, times, growth, tables and pages.

measure.py compares values and derivatives, counts and times; differences.py has the finite differences, counting.py
and space.py count operations and memory.
steps.py records every step of a stage. report.py prints the results in the terminal, page/ writes them as a page to
step through. api.py has `stages.compare`.
"""
