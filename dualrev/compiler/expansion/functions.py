"""Functions of numpy, math and Python, and methods of arrays, in expanded core."""

from __future__ import annotations

from typing import Any

from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import Const, Effect, If, Let, Node, Ref, Slice, Star, Store
from dualrev.compiler.core.naming import readable
from dualrev.compiler.expansion.calling import holds_reals
from dualrev.compiler.expansion.elementwise import REWRITTEN
from dualrev.compiler.expansion.layouts import Layouts
from dualrev.compiler.expansion.statements import dtype_name, is_array, is_real, is_real_array
from dualrev.rules.aliasing import ALIASING
from dualrev.rules.catalogue import DISCRETE
from dualrev.rules.names import STOPPED, line_of

__all__ = ["Functions"]

_METHODS = {"sum", "mean", "min", "max", "prod", "dot", "copy", "reshape", "ravel", "transpose", "cumsum"}
_METHODS |= {"var", "std", "cumprod", "take", "repeat", "clip", "argsort", "argpartition", "nonzero", "searchsorted"}

#: Functions with a method of their own here.
_FUNCTIONS = {
    **{f"np.{n}": "_alloc" for n in ["zeros", "ones", "empty", "eye", "identity", "tri"]},
    **{f"np.{n}": "_alloc" for n in ["zeros_like", "empty_like", "ones_like"]},
    "np.arange": "_range",
    "np.linspace": "_range",
    "np.full": "full",
    "np.full_like": "full",
    **dict.fromkeys(["sum", "np.sum", "np.mean", "np.prod"], "_sum"),
    **dict.fromkeys(["np.min", "np.max", "np.amin", "np.amax"], "_extreme"),
    **{f"np.{n}": "_spread" for n in ["var", "std"]},
    **dict.fromkeys([name for name in ALIASING if name.startswith("np.")], "same_elements"),
    **{f"np.{n}": "_shape" for n in ["shape", "size", "ndim"]},
    "np.dot": "dot",
    "np.outer": "_outer",
    "np.diff": "_diff",
    "np.clip": "_clip",
    "len": "_len",
    "np.concatenate": "_concatenate",
    "np.stack": "_stack",
    **{f"np.{n}": "_stacked" for n in ["vstack", "hstack", "dstack", "column_stack"]},
    "np.append": "_append",
    "np.fill_diagonal": "_fill_diagonal",
    "np.vdot": "dot",
    "np.ediff1d": "_diff",
}
#: Those that make an array of no array.
_SHAPED = {f"np.{n}" for n in ["zeros", "ones", "empty", "eye", "identity", "tri", "arange", "linspace", "full"]}
_SHAPED |= {f"np.{n}" for n in ["zeros_like", "empty_like", "ones_like", "full_like", "asarray", "concatenate"]}


class Functions(Layouts):
    """Functions and methods: each becomes a line of the table, loops, or the call of a function of library/."""

    def _method(self, s: Let, kind: Any) -> None:
        method, keywords = s.info
        base = self.kind(s.args[0])
        if not is_array(base):
            self.refuse(s.line, f"the method .{method}", "it is not known", "a function")
        if method == "fill":
            self.flush()
            self.fill(s.args[0], s.args[1], s.line)
        elif method == "flatten" and len(s.args) == 1:
            self.same_elements(Let(s.target, "func", s.args, ("flatten", ()), s.line), kind)
        elif method == "sort":
            self.sorted_in_place(s)
        elif method in _METHODS:
            function, args = f"np.{method}", s.args
            if method in ("reshape", "transpose") and len(args) > 2:
                shape = self.temp(types.UniTuple(types.int64, len(args) - 1))
                self.operation(Let(shape, "tuple", args[1:], None, s.line))
                args = (args[0], shape)
            if keywords == ("axis",) and len(args) == 2:
                keywords = ()
            self.function(Let(s.target, "func", args, (function, keywords), s.line), kind)
        elif method in ("argmin", "argmax", "any", "all", "item") and not is_real(kind):
            self.materialise(s.args[0])
            self.as_written(s)
        elif method == "astype":
            self.same_elements(s, kind)
        elif method == "item" and len(s.args) == 1:
            self.materialise(s.args[0])
            index = tuple(Const(0) for _ in range(base.ndim))
            self.let("load", (s.args[0],), index, s.line, target=s.target)
        else:
            self.refuse(s.line, f"the method .{method}", "", "a loop")

    def _func(self, s: Let, kind: Any) -> None:
        self.function(s, kind)

    def _star(self, s: Let, kind: Any) -> None:
        """g(x, *t), now that the length of t is known."""
        star: Star = s.info
        count = len(star.stars)
        args: list[Any] = []
        for x, starred in zip(s.args, star.stars, strict=False):
            args += self.items_of(x, s.line) if starred else [x]
        args += s.args[count:]
        if star.op == "func":
            self.operation(Let(s.target, "func", tuple(args), (star.callee, star.keywords), s.line))
            return
        name = readable(star.callee.name).strip("_")
        bound = star.bound(args, lambda why: self.refuse(s.line, f"the call of {name}", why, "its arguments"))
        self.operation(Let(s.target, star.op, tuple(bound), star.callee, s.line))

    def items_of(self, x: Any, line: int) -> list[Any]:
        """The items of a tuple as atoms: those that are tuples themselves get a name."""
        tree = self.tree(x)
        if not isinstance(tree, Node):
            self.refuse(line, "* before something that is no tuple", "its length is not known", "every argument")
        made = []
        for k, part in enumerate(tree.parts):
            if isinstance(part, Node):
                kind = self.kind(x)
                name = self.temp(kind.types[k])
                self.copy_tree(self.tree(name), part, line)
                made.append(name)
            else:
                made.append(part)
        return made

    # Functions

    def function(self, s: Let, kind: Any) -> None:
        """A function of the table, or numpy's."""
        text, keywords = s.info
        kinds = [self.kind(x) for x in s.args if not isinstance(x, Ref) or x.path]
        arrays = any(is_array(k) for k in kinds)
        method = getattr(self, _FUNCTIONS.get(text, ""), None)
        line = line_of(text)
        if text == "np.array" or (text == "np.asarray" and s.args[0] in self.lists):
            if not is_array(self.kind(s.args[0])) or len(s.args) > 2 or keywords not in ((), ("dtype",)):
                self.refuse(s.line, "np.array of these arguments", "only that of a list or an array is known", "a loop")
            self.same_elements(Let(s.target, "func", s.args[:1], ("np.copy", ()), s.line), kind)
            return
        if text != STOPPED and (self.in_catalogue(s, kind) or self.into_array(s, kind)):
            return
        plain = isinstance(kind, types.BaseTuple) and not text.startswith(("min", "max", "sum"))
        if (plain or text.removeprefix("np.") in DISCRETE) and self.is_inactive(s, kind):
            self.inactive(s, kind)
            return
        if keywords and text not in _SHAPED and (holds_reals(kind) or isinstance(kind, types.NoneType)):
            names = ", ".join(keywords)
            self.refuse(s.line, f"{text} with {names}", "it is not known here", "the function with its usual arguments")
        if text == STOPPED:
            self.stopped(s)
        elif method is not None and (arrays or text in _SHAPED or any(isinstance(k, types.BaseTuple) for k in kinds)):
            method(s, kind)
        elif text in ("min", "max") and len(s.args) == 1 and isinstance(kinds[0], types.BaseTuple):
            self.of_tuple(s, kind)
        elif text in ("min", "max") and len(s.args) > 1:
            self.extremum(s, kind, "<" if text == "min" else ">")
        elif text == "divmod":
            self.library(s, "divmod_of", s.args)
        elif text in ("float", "np.float64", "np.float32") and not arrays:
            if s.args and is_real(self.kind(s.args[0])):
                self.let("prim", s.args, (line_of("+x"), s), s.line, target=s.target)
            else:
                self.as_written(s)
        elif text in REWRITTEN and is_real(kind):
            self.rewritten(text, s.args[0], kind, s.line, s.target)
        elif text == "math.ldexp":
            power = self.plain("math.ldexp(1.0, n)", s.line, kind, n=s.args[1])
            made = Let(s.target, "binop", (s.args[0], power), "*", s.line)
            self.let("prim", made.args, (line_of("*"), made), s.line, target=s.target)
        elif line is not None and is_real(kind) and len(line.partials) == len(s.args):
            for x in s.args:
                self.materialise(x)
            self.let("prim", s.args, (line, s), s.line, target=s.target)
        elif text in ("round", "np.round") and is_real(kind):
            self.as_written(s)  # to a number of digits: piecewise constant
        elif not is_real(kind) and not isinstance(kind, types.BaseTuple) and not is_real_array(kind):
            for x in s.args:
                self.materialise(x)
            self.alloc(s) if is_array(kind) else self.as_written(s)
        else:
            self.refuse(s.line, f"{text} of these arguments", "", "a loop")

    def _len(self, s: Let, kind: Any) -> None:
        of = self.kind(s.args[0])
        if isinstance(of, types.BaseTuple):
            self.let("copy", (Const(len(of.types)),), None, s.line, target=s.target)
        else:
            self.materialise(s.args[0])
            self.as_written(s)

    def _shape(self, s: Let, kind: Any) -> None:
        self.materialise(s.args[0])
        self.operation(Let(s.target, "attr", s.args, s.info[0].split(".")[-1], s.line))

    def _range(self, s: Let, kind: Any) -> None:
        """np.arange and np.linspace."""
        name = s.info[0].split(".")[-1]
        count = 2 if name == "linspace" else 3
        real = any(isinstance(x, str) and is_real(self.kind(x)) for x in s.args[:count])
        if not real:
            self.alloc(s)
            return
        if s.info[1] or len(s.args) > 3 or kind.dtype != types.float64:
            self.refuse(s.line, f"np.{name} with these arguments", "its derivative is not known", "a loop")
        args = s.args
        if name == "arange":
            args = (Const(0), args[0], Const(1)) if len(args) == 1 else (*args, Const(1))[:3]
        elif len(args) == 2:
            args = (*args, Const(50))
        self.library(s, name, args)

    def _sum(self, s: Let, kind: Any) -> None:
        """Sum, mean and product."""
        short = s.info[0].split(".")[-1]
        if self.is_tuple(s.args[0]) or (isinstance(s.args[0], Ref) and isinstance(s.args[0].value, tuple)):
            self.of_tuple(s, kind)
        elif is_real_array(kind) and short == "sum":
            self.sum_axis(s, kind)
        elif is_real(kind):
            self.reduce(s, kind, short)
        else:
            self.materialise(s.args[0])
            self.as_written(s)

    def _extreme(self, s: Let, kind: Any) -> None:
        short = s.info[0].split(".")[-1].removeprefix("a")
        if self.is_tuple(s.args[0]):
            self.of_tuple(s, kind)
            return
        self.materialise(s.args[0])
        if len(s.args) > 1:
            self.refuse(s.line, f"{s.info[0]} with an axis", "numba has none", "a loop")
        if is_real(kind):
            self.let("array", (s.args[0],), (f"np.{short}",), s.line, target=s.target)
        else:
            self.as_written(s)

    def _spread(self, s: Let, kind: Any) -> None:
        """np.var and np.std."""
        short = s.info[0].split(".")[-1]
        self.materialise(s.args[0])
        of = self.kind(s.args[0])
        if len(s.args) > 1 or not is_real_array(of):
            self.refuse(s.line, f"np.{short} of these arguments", "it has no derivative here", "a loop")
        self.library(s, short, s.args)

    def _outer(self, s: Let, kind: Any) -> None:
        """A column times a row."""
        if len(s.args) != 2:
            self.refuse(s.line, "np.outer of these arguments", "only that of two arrays is known", "a loop")
        left, right = (self.vector(x, s.line) for x in s.args)
        column = self.temp(types.Array(self.kind(left).dtype, 2, "A"))
        self.let("view", (left,), (Slice(None, None, None), None), s.line, target=column)
        self.operation(Let(s.target, "binop", (column, right), "*", s.line))

    def _diff(self, s: Let, kind: Any) -> None:
        """What is behind, minus what is before, along the last axis."""
        x = s.args[0]
        if len(s.args) != 1 or not is_array(self.kind(x)):
            self.refuse(s.line, f"{s.info[0]} of these arguments", "only that of an array is known", "a loop")
        x = self.vector(x, s.line) if s.info[0] == "np.ediff1d" else x
        self.materialise(x)
        views = []
        for part in (Slice(Const(1), None, None), Slice(None, Const(-1), None)):
            views.append(self.temp(types.Array(self.kind(x).dtype, kind.ndim, "A")))
            index = (part,) if kind.ndim == 1 else (Ellipsis, part)
            self.let("view", (x,), index, s.line, target=views[-1])
        self.operation(Let(s.target, "binop", tuple(views), "-", s.line))

    def _clip(self, s: Let, kind: Any) -> None:
        """min(max(x, low), high) for all elements."""
        x, low, high = (*s.args, Const(None), Const(None))[:3]
        if len(s.args) > 3 or not is_array(self.kind(x)) or any(is_array(self.kind(y)) for y in (low, high)):
            self.refuse(s.line, "np.clip of these arguments", "only that of an array by numbers is known", "a loop")
        self.materialise(x)
        base = self.named(x, s.line)
        made = s.target if s.target != base else self.temp(kind)
        self.empty_like(made, base, s.line)

        def one(i: tuple[str, ...]) -> None:
            y: Any = self.pick(x, i, s.line)
            for bound, symbol in ((low, ">"), (high, "<")):
                if bound != Const(None):
                    clipped = self.temp(kind.dtype)
                    self.clipped(Let(clipped, "func", (y, bound), None, s.line), kind.dtype, symbol)
                    y = clipped
            self.put(made, i, y, s.line)

        self.over(made, kind.ndim, s.line, one)
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)

    def clipped(self, s: Let, kind: Any, symbol: str) -> None:
        """Python's min or max of two numbers, with which numba clips; a tie is shared, as that of np.minimum is."""
        x, bound = s.args
        test = self.plain("x == bound or x != x", s.line, types.boolean, x=x, bound=bound)
        python, table = ("max", "np.maximum") if symbol == ">" else ("min", "np.minimum")
        same = Let(s.target, "func", s.args, (python, ()), s.line)
        then: list[Any] = [Let(s.target, "prim", s.args, (line_of(table), same), s.line)]
        self.out.append(If(test, then, self.collect(lambda: self.extremum(s, kind, symbol)), s.line))

    def _literal(self, s: Let, kind: Any) -> None:
        """np.array([[x, y], [z, w]])."""
        flat = list(syntax.flattened(s.info))
        if any(not isinstance(self.kind(s.args[k]), (types.Float, types.Integer, types.Boolean)) for k in flat):
            self.refuse(s.line, "np.array of these values", "its elements are no numbers", "an array of numbers")
        places: list[tuple[tuple[int, ...], int]] = []

        def visit(tree: Any, index: tuple[int, ...]) -> None:
            for k, x in enumerate(tree):
                if isinstance(x, list):
                    visit(x, (*index, k))
                else:
                    places.append(((*index, k), x))

        visit(s.info, ())
        shape = tuple(1 + max(index[k] for index, _ in places) for k in range(kind.ndim))
        made = s.target if s.target not in s.args else self.temp(kind)
        self.empty(made, str(shape), (), s.line)
        for index, k in places:
            self.out.append(Store(made, tuple(map(Const, index)), s.args[k], s.line))
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)

    def _alloc(self, s: Let, kind: Any) -> None:
        self.alloc(s)

    def extremum(self, s: Let, kind: Any, symbol: str) -> None:
        """Python's min and max: the first of those that tie."""
        best = self.temp(kind)
        self.let("copy", (s.args[0],), None, s.line, target=best)
        for x in s.args[1:]:
            test = self.plain(f"x {symbol} best", s.line, types.boolean, x=x, best=best)
            then: list[Any] = [Let(best, "copy", (x,), None, s.line)]
            self.out.append(If(test, then, [], s.line))
        self.let("copy", (best,), None, s.line, target=s.target)

    def of_tuple(self, s: Let, kind: Any) -> None:
        """Sum, min and max of a tuple's items."""
        parts = tuple(self.tree(s.args[0]).parts)
        text = s.info[0].split(".")[-1]
        if any(isinstance(x, Node) or is_array(self.kind(x)) for x in parts) or text not in ("sum", "min", "max"):
            self.refuse(s.line, f"{text} of this tuple", "its items are no numbers", "a loop")
        if text != "sum":
            self.extremum(Let(s.target, "func", parts, s.info, s.line), kind, "<" if text == "min" else ">")
            return
        total: Any = s.args[1] if len(s.args) > 1 else Const(0)
        for x in parts:
            made = self.temp(kind)
            if total == Const(0):
                self.let("copy", (x,), None, s.line, target=made)
            else:
                self.operation(Let(made, "binop", (total, x), "+", s.line))
            total = made
        self.let("copy", (total,), None, s.line, target=s.target)

    def full(self, s: Let, kind: Any) -> None:
        """np.full and np.full_like."""
        value = s.args[1]
        rest = [*s.args[:1], *s.args[2:]]
        keywords = s.info[1]
        if any(k != "dtype" for k in keywords):
            self.refuse(s.line, f"{s.info[0]} with these keywords", "they are not known", "np.full(shape, value)")
        name = "np.empty" if s.info[0] == "np.full" else "np.empty_like"
        if name == "np.empty" and len(rest) == 1:
            rest.append(Ref(dtype_name(kind.dtype), None))
        made = s.target if s.target not in s.args else self.temp(kind)
        self.alloc(Let(made, "func", tuple(rest), (name, keywords), s.line))
        self.fill(made, value, s.line)
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)

    def into_array(self, s: Let, kind: Any) -> bool:
        """Whether it was a function of elements, or np.dot, with an array for its result; then it has been written."""
        text, keywords = s.info
        line = line_of(text)
        count = 2 if text == "np.dot" else len(line.partials) if line is not None else 0
        if keywords or not is_real_array(kind) or not count or len(s.args) != count + 1:
            return False
        array = s.args[count]
        if not isinstance(array, str) or not is_real_array(self.kind(array)):
            return False
        made = self.temp(types.Array(kind.dtype, kind.ndim, "C"))
        self.operation(Let(made, "func", s.args[:count], (text, ()), s.line))
        self.materialise(made)
        self.flush()
        for k in range(kind.ndim):
            wrong = self.plain(f"x.shape[{k}] != y.shape[{k}]", s.line, types.boolean, x=made, y=array)
            error = Effect('raise ValueError("incompatible output array size")', (), s.line, True)
            self.out.append(If(wrong, [error], [], s.line))
        self.assign(array, made, s.line, None)
        if array != s.target:
            self.let("copy", (array,), None, s.line, target=s.target)
        return True

    def dot(self, s: Let, kind: Any) -> None:
        """The product of two arrays."""
        for x in s.args:
            self.materialise(x)
        if not all(is_array(self.kind(x)) for x in s.args) or len(s.args) != 2:
            self.refuse(s.line, "this dot product", "numba has it for two arrays", "a loop")
        self.let("array", s.args, ("np.dot",), s.line, target=s.target)
