"""Analyses of the typed core, which change nothing: the facts that a transformation needs about a function.

Other rooms import activity, cost_model, dependence, determinism, layout, memory/alias, memory/escape,
memory/first_writes, memory/loop_context, memory/loop_dependence, memory/privatizable, memory/shadow_flow, mincut,
opaque_flows, rectangles, ssa, values/finiteness, values/index_ranges, values/induction, values/infinite_partials,
values/linear_bounds, values/linear_forms, values/nonzero_cotangents, values/uniformity.
"""
