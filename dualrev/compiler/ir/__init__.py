"""The IRs that passes read and write (ANF and typed core), their names, types, printers and pass manager.

operations.py   what a numba function's source becomes: operations whose types numba infers
nodes.py     typed core, which every transformation takes and gives
"""
