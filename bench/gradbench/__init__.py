"""dualrev as a tool of GradBench, the benchmark of AD tools (github.com/gradbench/gradbench): README.md says how to use it.

`python -m bench.gradbench` is the tool. It reads messages from standard input, one JSON object a line, and answers each.
"""
