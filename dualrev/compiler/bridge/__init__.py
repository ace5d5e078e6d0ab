"""Bridge between Python and emitted text: dispatchers, the cache on disk, and blocks of the tape.

Other rooms import api, batch, cache/standalone, cache/store, dispatcher, fast_compilation, numba_ext/register,
profile/compile_info, profile/tape_info, tape_block, ufunc_calls.
"""
