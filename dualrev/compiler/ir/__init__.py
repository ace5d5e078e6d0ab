"""The IRs that passes read and write (ANF and typed core), their names, types, printers and pass manager.

anf     what a numba function's source becomes: operations whose types numba infers
core    typed core, which every transformation takes and gives

Other rooms import anf, anf/builder, anf/printer, anf/rewrite, anf/to_python, anf_to_core, core/atom_types, core/atoms,
core/builder, core/known_zeros, core/nodes, core/printer, core/program, core/traverse, core/verify, core/verify_tape,
local_names, names, pass_manager, union_find.
"""
