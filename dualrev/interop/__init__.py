"""Functions of dualrev's in other libraries, with their derivatives: docs/interop.md has a page on each.

A module is named like its library, which is imported with it, and only then:

    jax       function     for jit, grad, hessian and vmap of JAX
    torch     function     for autograd of PyTorch, twice
    pytensor  function     for PyTensor and PyMC; compiled into their graphs where f is a numba function
    nutpie    model        to sample from
    casadi    function     a CasADi Callback, with Jacobians and Hessians
    cyipopt   Problem      for Ipopt, with sparse derivatives
"""
