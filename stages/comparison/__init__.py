"""The step-by-step comparison of the stages: counts, times, growth, tables and pages.

measure.py compares values and derivatives, counts and times; counting.py and space.py count; steps.py follows a stage
step by step. report.py shows all of it in the terminal, page/ as a page to step through. api.py has `stages.compare`.
"""
