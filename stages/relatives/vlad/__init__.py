r"""VLAD: a small functional language in which reverse mode is a function, J.

Paper:   Pearlmutter and Siskind 2008, sections 3 and 4
D[R] =   ↼R, a number with a tag; ↼(s -> t) = ↼s -> (↼t, (t' -> (E, s')))       t', s' sensitivities, E that of the

                                                                               function's environment
Changed: source to source, on lambda terms: \x e becomes a term that returns its value and a backpropagator, the reverse
         phase of e. Backpropagators are closures of the language, so J applies to its own results. A function's free
         variables have sensitivities, too: a backpropagator returns the environment's sensitivity with the
         argument's; without it, the derivative of \a ((\b \c b) a) 1 would be 0 (section 3).
Needs:   a language that can inspect closures: hence a language of its own, with parser and evaluator.
Cost:    a constant times the steps of the program, since zero, plus, J and J^-1 take constant time (values.py): as many
         operations on reals in the forward phase as in the program, and 8 to 11 times as many in both phases; 20 to 23
         times the evaluator's steps; the gradient of a gradient, 60 to 100 times the operations (counts in
         tests/relatives/test_relatives_vlad.py). Only memory limits the depth of programs and data (10 to 15 kB for an
         operation of a translated Python function or a level of recursion); only J around J, and a sum of functions
         of sums of functions, recurse on Python's stack.

As in the paper, a backpropagator is called with 0 even if the output does not depend on its operation: if the
operation's derivative is infinite, the result is nan. (`vjp` leaves such operations out of the program.)

Decisions where section 4 leaves something open, and deviations from it:

- Pairs are native, as in the authors' own implementation (values.py, reverse.py). Pairs as closures, as section 4
  presents them, work too, and have lists as sensitivities.
- The paper's reverse phase accumulates only into x0 and the base free variables; here also into x1 .. xn, which are
  bound in the body.
- The base free variables of a backpropagator are its free variables: no clause of B speaks of a tag other than ↼.
- The paper's bounds rely on lazy and memoized AD primitives; values.py says which laziness suffices.

    terms.py       expressions, variables and their tags, A-normal form
    syntax.py      s-expressions and their expansion; printer.py writes them
    anf.py         A-normal form and alpha conversion
    reverse.py     the transform of lambda terms
    values.py      values, and 0, (+), J and J^-1 on them
    primitives.py  the top-level environment, and the transforms of primitives
    evaluate.py    eval and apply
    python.py      Python functions as VLAD; vjp and count

The square, its transform, and the transform's result at 3: the value 9, and a backpropagator. At 1, it returns the
sensitivity of the environment, which has an entry for the only free variable, the primitive *: []; and then 6.

>>> square = evaluate("(lambda (x) (* x x))")
>>> print(show(J(square)))
(lambda (↼x)
  (let* ((↼t (cons↼ ↼x ↼x)) ((cons ↼t.1 ¯t.1) (↼* ↼t)))
    (cons ↼t.1
          (lambda (↽t.1)
            (let* ((↽* (zero (J-inverse ↼*)))
                   (↽x (zero (J-inverse ↼x)))
                   (↽t (zero (J-inverse ↼t)))
                   (⊕= (cons ↽* ↽t) (¯t.1 ↽t.1))
                   (⊕= (cons ↽x ↽x) ↽t))
              (cons (list ↽*) ↽x))))))
>>> show(evaluate("((cdr ((J (lambda (x) (* x x))) (J 3))) 1)"))
'(cons (list ()) 6)'

A Hessian-vector product, by J of a function that calls J (section 5):

>>> show(evaluate('''
... (define (gradient f x) (cdr ((cdr ((J f) (J x))) 1)))
... (define (dot (list a b) (list c d)) (+ (* a c) (* b d)))
... (define (f (list x y)) (+ (* 2 x x) (* 3 x y) (* 4 y y)))
... (gradient (lambda (x) (dot (gradient f x) (list 7 8))) (list 3 4))
... '''))
'(list 52 85)'
"""

from stages.relatives.vlad.evaluate import call, evaluate
from stages.relatives.vlad.python import count, translated, vjp
from stages.relatives.vlad.syntax import parse
from stages.relatives.vlad.terms import VladError
from stages.relatives.vlad.values import J, J_inverse, Meter, plus, show, zero

__all__ = [
    "J",
    "J_inverse",
    "Meter",
    "VladError",
    "call",
    "count",
    "evaluate",
    "parse",
    "plus",
    "show",
    "translated",
    "vjp",
    "zero",
]
