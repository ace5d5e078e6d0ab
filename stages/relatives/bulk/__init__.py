"""An array language, and dual numbers with arrays for scalars: Smeding, Konarski, Peyton Jones and Fitzgibbon 2025.

    terms.py, language.py       the language: build, gather, scatter, sum (binding.py, shapes.py)
    elementwise.py              its meaning, one scalar after the other, as the stages run it
    vectorise.py                the bulk-operation transform: programs without build
    dual_arrays.py              an array and one backpropagator (numpy_arrays.py has the bulk operations)
    programs.py                 examples

The paper's text was not at hand: the modules are written from its published definitions. Its arrays have shapes in
their types, and its backpropagators are terms that are simplified and compiled; here shapes are checked before a run,
and numpy executes the bulk operations.
"""
