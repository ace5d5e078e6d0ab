"""Core: the languages that the passes read and write, their names, their types, and what a reader sees of them.

lowered.py   what a numba function's source becomes: operations whose types numba infers
terms.py     typed core, which every transformation takes and gives
"""
