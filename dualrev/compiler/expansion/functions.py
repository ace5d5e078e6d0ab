"""Functions of numpy, math and Python, and methods of arrays, in expanded core."""

from __future__ import annotations

from typing import Any

from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import Const, Effect, If, Let, Node, Ref, Slice, Star, Store
from dualrev.compiler.core.naming import readable
from dualrev.compiler.expansion.calling import holds_reals
from dualrev.compiler.expansion.numbers import Numbers
from dualrev.compiler.expansion.statements import dtype_name, is_array, is_real, is_real_array
from dualrev.compiler.frontend.jitted import STOPPED
from dualrev.rules.functions import known
from dualrev.rules.names import line_of

__all__ = ["Functions"]


class Functions(Numbers):
    """Functions and methods: each becomes a line of the table, loops, or the call of a definition."""

    def _method(self, s: Let, kind: Any) -> None:
        method, keywords = s.info
        base = self.kind(s.args[0])
        if isinstance(base, types.UnicodeType):
            self.as_written(s)
            return
        if method in ("conj", "conjugate") and len(s.args) == 1 and (is_real(base) or is_array(base)):
            self.real_part(s, kind)
            return
        if not is_array(base):
            self.refuse(s.line, f"the method .{method}", "it is not known", "a function")
        if method == "fill":
            self.flush()
            self.fill(s.args[0], s.args[1], s.line)
        elif method == "flatten" and len(s.args) == 1:
            self.same_elements(Let(s.target, "func", s.args, ("flatten", ()), s.line), kind)
        elif method == "sort":
            self.sorted_in_place(s)
        elif known(f"np.{method}").method:
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

    def real_part(self, s: Let, kind: Any) -> None:
        """np.conj of real numbers: new ones, as numba has it."""
        if is_array(kind):
            self.same_elements(Let(s.target, "func", s.args[:1], ("np.copy", ()), s.line), kind)
        else:
            self.let("copy", (s.args[0],), None, s.line, target=s.target)

    def _real(self, s: Let, kind: Any) -> None:
        """np.real: the same memory."""
        self.materialise(s.args[0])
        self.operation(Let(s.target, "attr", s.args, "real", s.line))

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
        refuse = lambda why: self.refuse(s.line, f"the call of {name}", why, "its arguments")  # noqa: E731
        bound = star.bound(args, refuse, lambda rest: self.packed(rest, s.line))
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

    def packed(self, items: list[Any], line: int) -> str:
        """A tuple of these atoms."""
        made = self.temp(types.BaseTuple.from_types([types.unliteral(self.kind(x)) for x in items]))
        self.operation(Let(made, "tuple", tuple(items), None, line))
        return made

    # Functions

    def function(self, s: Let, kind: Any) -> None:
        """A function of the table; rules/functions says what it knows of each."""
        text, keywords = s.info
        f = known(text)
        kinds = [self.kind(x) for x in s.args if not isinstance(x, Ref) or x.path]
        if text == "np.array" or (text == "np.asarray" and s.args[0] in self.lists):
            self._array(s, kind)
            return
        if self.in_table(s, kind) or self.into_array(s, kind):
            return
        plain = isinstance(kind, types.BaseTuple) and not text.startswith(("min", "max", "sum"))
        if (plain or f.written) and self.is_inactive(s, kind):
            self.inactive(s, kind)
            return
        if keywords and not f.makes and (holds_reals(kind) or isinstance(kind, types.NoneType)):
            names = ", ".join(keywords)
            self.refuse(s.line, f"{text} with {names}", "it is not known here", "the function with its usual arguments")
        if text == STOPPED:
            self.stopped(s)
        elif f.core and (f.makes or any(is_array(k) or isinstance(k, types.BaseTuple) for k in kinds)):
            getattr(self, f.core)(s, kind)
        elif not ((f.scalar and getattr(self, f.scalar)(s, kind)) or self.of_numbers(s, kind)):
            self.without_rule(s, kind)

    def without_rule(self, s: Let, kind: Any) -> None:
        """A function that has no rule: as it is written, if its result is discrete."""
        if is_real(kind) or isinstance(kind, types.BaseTuple) or is_real_array(kind):
            self.refuse(s.line, f"{s.info[0]} of these arguments", "", "a loop")
        for x in s.args:
            self.materialise(x)
        self.alloc(s) if is_array(kind) else self.as_written(s)

    def _array(self, s: Let, kind: Any) -> None:
        """np.array of an array, or of a list of numbers, which is one here."""
        if not is_array(self.kind(s.args[0])) or len(s.args) > 2 or s.info[1] not in ((), ("dtype",)):
            self.refuse(s.line, "np.array of these arguments", "only that of a list or an array is known", "a loop")
        self.same_elements(Let(s.target, "func", s.args[:1], ("np.copy", ()), s.line), kind)

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
        arrays = [y for y in (low, high) if is_array(self.kind(y))]
        if len(s.args) > 3 or not is_array(self.kind(x)) or any(self.kind(y).ndim > self.kind(x).ndim for y in arrays):
            self.refuse(s.line, "np.clip of these arguments", "only that of an array is known, in its shape", "a loop")
        self.materialise(x)
        base = self.named(x, s.line)
        made = s.target if s.target != base else self.temp(kind)
        self.empty_like(made, base, s.line)
        for y in arrays:
            self.materialise(y)
        spread = {y: self.spread_to(y, made, s.line) for y in arrays}

        def one(i: tuple[str, ...]) -> None:
            y: Any = self.pick(x, i, s.line)
            for limit, symbol in ((low, ">"), (high, "<")):
                if limit != Const(None):
                    bound = self.pick(spread[limit], i, s.line) if limit in spread else limit
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
