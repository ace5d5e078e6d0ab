r"""VLAD: a small functional language in which reverse mode is a function, J.

Paper:   Pearlmutter and Siskind 2008, sections 3 and 4
D[R] =   ↼R, a number with a tag; ↼(s -> t) = ↼s -> (↼t, (t' -> (E, s')))       t', s' sensitivities, E that of the
                                                                               function's environment
Changed: source to source, on lambda terms: \x e becomes a term that returns, beside its value, a backpropagator, which
         has the reverse phase of e. Backpropagators are closures of the language, so J applies to its own results. A
         function's free variables have sensitivities, too: a backpropagator returns the environment's beside the
         argument's, without which the derivative of \a ((\b \c b) a) 1 comes out as 0 (section 3).
Needs:   a language that can look into closures: hence one of its own, with parser and evaluator.
Cost:    a constant times the steps of the program, since zero, plus, J and J^-1 take constant time (values.py): as many
         operations on reals in the forward phase as in the program, and 8 to 11 times as many in both phases; 20 to 23
         times the evaluator's steps; the gradient of a gradient, 70 to 95 times the operations (counts in
         tests/relatives/test_relatives_vlad.py). Programs and data may be of any depth that memory bears (10 to 15 kB
         for an operation of a translated Python function or a level of recursion); only J around J, and a sum of
         functions of sums of functions, recurse on Python's stack.

An output that does not depend on an operation passes 0 to its backpropagator all the same, as the paper has it: where
the operation's derivative is infinite, nan comes out. (In `vjp`, such operations are left out of the program.)

Where section 4 leaves something open, or is read otherwise than it stands:

- Pairs are native, as in the authors' own implementation (values.py, reverse.py). Written as closures, as section 4
  presents them, they work too, and have lists for sensitivities.
- The reverse phase is to leave out accumulation into variables other than x0 and the base free ones; x1 .. xn, which
  are bound in the body, are not meant by that.
- The base free variables of a backpropagator are its free variables: no clause of B speaks of a tag other than ↼.
- The paper's footing for bounds is lazy and memoized AD primitives; values.py says which laziness is enough.

    terms.py       expressions, variables and their tags, A-normal form
    syntax.py      s-expressions, and what they expand to; printer.py writes them
    anf.py         A-normal form and alpha conversion
    reverse.py     the transform of lambda terms
    values.py      values; 0, (+), J and J^-1 of them
    primitives.py  the top-level environment, and the transforms of primitives
    evaluate.py    eval and apply
    python.py      Python functions as VLAD; vjp and count

The square, its transform, and what that returns at 3: the value 9, and the backpropagator, which takes 1 to 6, after
the sensitivity of the environment. That has an entry for the only free variable, the primitive *: [].

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

The product of a Hessian and a vector, by J of what calls J (section 5):

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
