"""Frontend: read, desugar and lower the source of a numba function to core (ANF), and infer its types by numba.

Other rooms import desugar/iter_next, lowering/dead_flags, lowering/lowered_function, lowering/to_anf,
messages, reading/ad_operators, reading/ast_purity, reading/callables,
reading/global_paths, reading/jitclass_methods, reading/locals_option, reading/njit_options, reading/prune_branches,
reading/source, typing/dtype_constants, typing/infer, typing/infer_callees, typing/optional, typing/unreachable,
typing/write_truth.
"""
