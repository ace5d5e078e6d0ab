"""Whole programs on real data, beside what people use today: `python -m examples.garch`, and the others.

Each prints a table, and with --picture FILE draws one. What they need is in the extra `examples`; docs/examples/ has
what they print. In examples/lantern are four networks that are trained: `python -m examples.lantern`.
"""
