"""dualrev as a tool of GradBench, the benchmark of AD tools: README.md says how to use it.

`python -m bench.gradbench` is the tool. It reads messages from standard input, an object of JSON a line, and answers.
"""
