"""Automatic differentiation of core: forward mode, reverse mode, higher-order derivatives and custom rules.

Other rooms import custom/custom_forward, custom/custom_reverse, custom/custom_rules, differentiated,
forward/forward_driver, function_table, higher/compiled_derivative, higher/derivative_operators, opaque_calls,
reverse/call_pair, reverse/checkpoint, reverse/fuse_sweeps, reverse/gradient_context, reverse/joint,
reverse/reverse_driver, reverse/sweeps, vector_mode.
"""
