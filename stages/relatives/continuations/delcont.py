r"""Lifting: any function with a pullback becomes an operation of reverse mode by shift and reset.

Paper:   Wang et al. 2019, section 3.2; the article on the Haskell library ad-delcont
D[R] =   (R, Ref R); in general D a da = (a, Ref da), value and cotangent of different types
Changed: in Fig. 8 (shift_reset.py) every operation is written out. Here op1 and op2 are written once, and the user
         gives the value of an operation and its pullback: f : a -> (b, db -> da). The overloaded operations are the
         lifted entries of the table of primitives; real numbers are one instance.
Needs:   mutable cells, delimited continuations (one-shot ones: greenlets, control.py), with levels for nesting. Haskell
         has no side effects: there, both effects are a type, ContT x (ST s), and a number of the program is the action
         that makes its variable. An action that is used twice runs twice: 2^n of them for n doublings. Here shift is
         a side effect, a number is the variable itself, and sharing is kept.
Cost:    O(1) for an operation: linear. Greenlets, memory and runs of f as in shift_reset.

    op1 f ra      = let (xb, g) = f !(ra.x) in shift (\k. let rb = var xb 0; ry = k rb in ra.d += g !(rb.d); ry)
    op2 f ra rb   = let (xc, g, h) = f !(ra.x) !(rb.x) in
                    shift (\k. let rc = var xc 0; ry = k rc in ra.d += g !(rc.d); rb.d += h !(rc.d); ry)
    D[op(t1..tn)] = the same with the partial derivatives: the i-th pullback is \z. z * pi
    rad1 f x      = let xr = var x 0; zr = reset (let z = f xr in z.d := 1; z) in (!(zr.x), !(xr.d))
"""

from __future__ import annotations

import numbers
import operator

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.errors import LeakError
from dualrev.tree import inputs, outputs
from stages.relatives.continuations.again import running_again
from stages.relatives.continuations.control import reset, shift


class Variable:
    """D a da: a value x and its cotangent d so far. Its only operations are those made by op1 and op2."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d

    def __repr__(self):
        return f"a variable with a {type(self.x).__name__}"


class Dual(DualNumber):
    """D[R]: a Variable whose value is a real number; it has the operations of numbers."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d


zero = None  # nothing has been added yet: then no pullback is called, and no type needs a 0 of its own


def kind(x):
    """The class of a variable with the value x: Dual for a real number, Variable otherwise."""
    return Dual if isinstance(x, numbers.Real) and not isinstance(x, numbers.Integral) else Variable


def lift(run, var, y, pulled):
    """shift (\\k. let rb = var y 0; ry = k rb in ra.d += g !(rb.d) for every (ra, g, plus); ry)"""
    if run.over:
        raise LeakError

    def body(k):
        """Make the result's variable, call k, and then pull its cotangent back."""
        rb = var(run, y, zero)
        ry = k(rb)
        if rb.d is not zero:
            visit(rb, pulled)
        return ry

    return shift(body, run)


def visit(rb, pulled):
    """The reverse step: ra.d += g !(rb.d)"""
    for ra, g, plus in pulled:
        z = g(rb.d)
        ra.d = z if ra.d is zero else plus(ra.d, z)


def op1(f, plus=operator.add):
    """f : a -> (b, db -> da), lifted to variables; `plus` adds two da.

    >>> sqrt = op1(lambda x: (x**0.5, lambda z: 0.5 * z / x**0.5))
    >>> rad1(lambda x: sqrt(x) * 3.0, 4.0)
    (6.0, 0.75)
    """
    return lambda ra: _lifted(lambda a: (lambda y, *gs: (y, gs))(*f(a)), (ra,), (plus,))


def op2(f, plus1=operator.add, plus2=operator.add):
    """f : a, b -> (c, dc -> da, dc -> db), lifted to variables; `plus1` adds two da, `plus2` two db.

    >>> mul = op2(lambda x, y: (x * y, lambda z: z * y, lambda z: z * x))
    >>> rad2(mul, 3.0, 2.0)
    (6.0, (2.0, 3.0))
    """
    return lambda ra, rb: _lifted(lambda a, b: (lambda y, *gs: (y, gs))(*f(a, b)), (ra, rb), (plus1, plus2))


def _lifted(f, args, pluses):
    """f's value as a variable of the latest run among the arguments; all other arguments are constants."""
    runs = [u.run for u in args if isinstance(u, (DualNumber, Variable))]
    run = max(runs, key=lambda run: run.level, default=None)
    own = [isinstance(u, (Dual, Variable)) and u.run is run for u in args]
    for u, mine in zip(args, own, strict=True):
        if isinstance(u, Variable) and not mine:
            raise TypeError(f"{u}, of an outer derivative: only operations on real numbers nest")
    y, gs = f(*(u.x if mine else u for u, mine in zip(args, own, strict=True)))
    if not any(own):  # constants only, or numbers of another algorithm, which overloads what f does
        return y
    pulled = zip(args, gs, pluses, strict=True)
    return lift(run, kind(y), y, [ra_g_plus for ra_g_plus, mine in zip(pulled, own, strict=True) if mine])


constant = None  # not represented


def op(run, y, args, partials):
    """D[op(t1..tn)]: an entry of the table of primitives, lifted"""
    return lift(run, Dual, y, [(u, lambda z, p=p: z * p, operator.add) for u, p in zip(args, partials, strict=True)])


overload(Dual, constant, op)


def rad(f, xs, seed):
    """The value of f at xs, and the cotangents of xs; `seed` sets the cotangents of the value."""
    with Run() as run:
        xrs = [kind(x)(run, x, zero) for x in xs]
        found = reset(lambda: seed(run, f(*xrs)), run)
    return found, [xr.d for xr in xrs]


def with_one(one):
    """The seed of rad1 and rad2: z.d := one"""

    def seed(run, zr):
        """Set the cotangent of the value. TypeError if f returned more than one value."""
        if isinstance(zr, (Dual, Variable)) and zr.run is run:
            zr.d = one
            return zr.x
        if isinstance(zr, (tuple, list, dict)):
            raise TypeError(f"the function returned a {type(zr).__name__}; return one value, or use vjp")
        return zr

    return seed


def rad1(f, x, one=1.0, nothing=0.0):
    """f's value at x and x's cotangent: `nothing` if x is not used. `one` is the cotangent of the value."""
    y, (d,) = rad(f, (x,), with_one(one))
    return y, nothing if d is zero else d


def rad2(f, x, y, one=1.0, nothing=(0.0, 0.0)):
    """f's value at x and y, and the cotangents of both."""
    z, ds = rad(f, (x, y), with_one(one))
    return z, tuple(null if d is zero else d for d, null in zip(ds, nothing, strict=True))


def grad(f, xs):
    """f's value, a single number, at nested data, and the cotangent of the data.

    >>> grad(lambda xs: xs[0] * xs[1], [3.0, 2.0])
    (6.0, [2.0, 3.0])
    """
    scalars, structure = inputs((xs,))
    y, ds = rad(lambda *us: f(*structure.rebuild(us)), scalars, with_one(1.0))
    (cts,) = structure.cotangent([0.0 if d is zero else d for d in ds])
    return y, cts


def deinterleave(run, y):
    """The output's scalars; the dual numbers among them, with their indices; its structure."""
    leaves, structure = outputs(y)
    structure.fold(leaves, node=lambda *_: None, discrete=_no_variable)
    duals = [(k, u) for k, u in enumerate(leaves) if isinstance(u, Dual) and u.run is run]
    for k, u in duals:
        leaves[k] = u.x
    return leaves, duals, structure


def _no_variable(x):
    if isinstance(x, Variable):
        raise TypeError(f"the function returned {x}: vjp takes real numbers only")


def there_and_back(f, scalars, structure, seeds):
    """rad of nested data: the output's scalars, its structure, and the cotangents of the input."""

    def seed(run, y):
        """Set the cotangents of the output's scalars."""
        values, ys, output = deinterleave(run, y)
        zs = seeds and seeds(values)
        for k, u in ys if zs else ():
            u.d = zs[k] if u.d is zero else u.d + zs[k]
        return values, output

    found, ds = rad(lambda *us: f(*structure.rebuild(us)), scalars, seed)
    return *found, [0.0 if d is zero else d for d in ds]


def vjp(f, *primals):
    """f's value at the primals, and the map from a cotangent of it to a tuple of cotangents, one for each.

    ImportError without greenlet.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    return running_again(there_and_back, f, primals)
