"""Functions of dualrev in other libraries, with their derivatives: docs/interop.md has a page on each.

A module has the name of its library, which it imports:

    jax       function     for jit, grad, jacrev and vmap of JAX
    torch     function     for autograd of PyTorch, twice
    pytensor  function     for PyTensor and PyMC; compiled into their graphs if f is a numba function
    nutpie    model        to sample from
    casadi    function     a CasADi Callback, with Jacobians and Hessians
    cyipopt   Problem      for Ipopt, with sparse derivatives
"""
