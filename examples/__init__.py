"""Whole programs on real data, compared with the usual libraries: `python -m examples.garch`, and the others.

Each prints a table; --picture FILE draws a figure. Install the extra `examples` to run them; docs/examples/ shows their
output. examples/lantern trains four neural networks: `python -m examples.lantern`.
"""
