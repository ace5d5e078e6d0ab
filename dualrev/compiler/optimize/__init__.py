"""Optimisations of core that know nothing of derivatives.

Other rooms import constant_folding, cse, dead_code, elide_rezeroing, elide_zeroing, initial_values, inline,
loop_direction, loop_fission, promote_accumulators, recognize_accumulation, scalar_replacement, sink_stores,
sroa_arrays.
"""
