"""dualrev as a tool of GradBench, the benchmark of AD tools. README.md says how to use it.

`python -m bench.gradbench` is the tool: it reads a JSON message from each line of standard input, and answers it.
"""
