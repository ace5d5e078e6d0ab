"""The related algorithms: the algorithms of nine other papers, behind the same `vjp` as the stages.

    RELATIVES                       the algorithms by name, by paper
    python -m stages --relatives    compares them with the stage `tape`

Krawiec et al. 2022 start from vectorised forward mode, as our paper starts from naive backpropagators, and arrive at
the same algorithm. Pearlmutter and Siskind 2008 transform programs of a language that can look into closures. In Wang
et al. 2019, and in ad-delcont, an operation receives its continuation, the rest of the program. Two more are mentioned
in our paper: the symbolic linear factoring of Brunel et al. (section 3.4), and ids from memory addresses (12.2). CHAD,
by our paper's authors, makes a linear function of each term, and has no dual numbers. Radul et al. 2023 transpose the
linear part of forward mode. Elliott 2018 interprets programs without variables in categories.

Beside them: states, reverse AD on machine states (Pearlmutter and Siskind 2008, section 2); karczmarczuk, lazy towers
and deferred perturbations (its section 6); linear_negation, linear factoring in any order (Brunel et al. 2020);
functions_as_keys, staged calls without ids; effects, reverse AD by effect handlers; fused and staging, functions as
single operations and generated code; bulk, dual arrays (Smeding et al. 2025); futhark, forward sweeps that run again
(Schenck et al. 2022); distributive, forward mode rewritten at compile time (Shaikhha et al. 2019).

An algorithm that takes only some programs has REFUSALS: the exceptions by which it refuses the others.
"""

from types import ModuleType

from stages.relatives import addresses, elliott, factored, global_tape, linearize, tagged_forward, vectorised, vlad
from stages.relatives.chad import chad, efficient_chad
from stages.relatives.continuations import cps, delcont, functional, lantern, shift_reset
from stages.relatives.deltas import delta, delta_array, delta_map

__all__ = ["RELATIVES"]

RELATIVES: dict[str, ModuleType] = {
    "vectorised": vectorised,
    "delta": delta,
    "delta_map": delta_map,
    "delta_array": delta_array,
    "vlad": vlad,
    "tagged_forward": tagged_forward,
    "cps": cps,
    "shift_reset": shift_reset,
    "global_tape": global_tape,
    "functional": functional,
    "delcont": delcont,
    "lantern": lantern,
    "factored": factored,
    "addresses": addresses,
    "chad": chad,
    "efficient_chad": efficient_chad,
    "linearize": linearize,
    "elliott": elliott,
}
