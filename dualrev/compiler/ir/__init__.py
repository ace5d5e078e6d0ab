"""Core: the languages that the passes read and write, their names, their types, and what a reader sees of them.

operations.py   what a numba function's source becomes: operations whose types numba infers
nodes.py     typed core, which every transformation takes and gives
"""
