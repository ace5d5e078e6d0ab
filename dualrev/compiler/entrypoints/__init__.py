"""Entry points of derivatives: the functions that users call, around the sweeps.

Other rooms import hessian, jacobian, jvp, vjp, vjp_residuals, wrap_complex, wrap_lists, wrap_objects.
"""
