class Functions(Elementwise):
    """x"""

    def _method(self, s: Let, kind: Any) -> None:
        method, keywords = s.info
        base = self.kind(s.args[0])
        if not is_array(base):
            self.refuse(s.line, f"the method .{method}", "it is not known", "a function")
        if method == "fill":
            self.fill(s.args[0], s.args[1], s.line)
        elif method in ("sum", "mean", "min", "max", "prod", "dot", "copy", "reshape", "ravel", "transpose", "flatten"):
            function = "np.copy" if method == "flatten" else f"np.{method}"
            args = s.args
            if method == "reshape" and len(args) > 2:
                shape = self.temp(types.UniTuple(types.int64, len(args) - 1))
                self._tuple(Let(shape, "tuple", args[1:], None, s.line), None)
                args = (args[0], shape)
            self.function(Let(s.target, "func", args, (function, keywords), s.line), kind)
        elif method in ("argmin", "argmax", "any", "all", "item") and not is_real(kind):
            self.materialise(s.args[0])
            self.as_written(s)
        elif method == "astype":
            self.copied(s, kind)
        elif method == "item":
            self.materialise(s.args[0])
            index = tuple(Const(0) for _ in range(base.ndim))
            self.let("load", (s.args[0],), index, s.line, target=s.target)
        else:
            self.refuse(s.line, f"the method .{method}", "it has no derivative here", "a loop")

    def _func(self, s: Let, kind: Any) -> None:
        self.function(s, kind)

    def function(self, s: Let, kind: Any) -> None:
        text, keywords = s.info
        kinds = [self.kind(x) for x in s.args if not isinstance(x, Ref)]
        arrays = any(is_array(k) for k in kinds)
        short = text.split(".")[-1]
        if text in ("min", "max") and len(s.args) > 1:
            self.extremum(s, kind, "<" if text == "min" else ">")
        elif text in ("min", "max", "sum") and self.is_tuple(s.args[0]):
            self.of_tuple(s, kind)
        elif text == "len" and isinstance(self.kind(s.args[0]), types.BaseTuple):
            self.let("copy", (Const(len(self.kind(s.args[0]).types)),), None, s.line, target=s.target)
        elif text in ("float", "np.float64", "np.float32") and not arrays:
            if is_real(self.kind(s.args[0])):
                self.let("prim", s.args, (line_of("+x"), s), s.line, target=s.target)
            else:
                self.as_written(s)
        elif text in ("np.shape", "np.size", "np.ndim"):
            self._attr(Let(s.target, "attr", s.args, short, s.line), kind)
        elif text in ("np.zeros", "np.ones", "np.empty", "np.eye", "np.identity", "np.arange") or (
            text in ("np.zeros_like", "np.empty_like", "np.ones_like")
        ):
            if text == "np.arange" and any(isinstance(x, str) and is_real(self.kind(x)) for x in s.args):
                self.refuse(s.line, "np.arange of floats", "their derivative is not known", "np.arange of ints, and scale it")
            self.alloc(s)
        elif text == "np.linspace":
            if any(isinstance(x, str) and is_real(self.kind(x)) for x in s.args[:2]):
                self.refuse(s.line, "np.linspace of variables", "their derivative is not known", "a loop")
            self.alloc(s)
        elif text in ("np.full", "np.full_like"):
            self.full(s, kind)
        elif text in ("np.copy", "np.ascontiguousarray", "np.asarray"):
            self.copied(s, kind)
        elif text in ("np.sum", "sum", "np.mean", "np.prod") and arrays and is_real(kind):
            self.reduce(s, kind, short)
        elif text in ("np.min", "np.max", "np.amin", "np.amax", "min", "max") and arrays and is_real(kind):
            self.materialise(s.args[0])
            if len(s.args) > 1:
                self.refuse(s.line, f"{text} with an axis", "numba has none", "a loop")
            self.let("array", (s.args[0],), (f"np.{short.replace('a', '', 1) if short[0] == 'a' else short}",), s.line, target=s.target)
        elif text in ("np.dot",):
            self.dot(s, kind)
        elif text in ("np.transpose", "np.reshape", "np.ravel"):
            self.reshaped(s, kind)
        elif line_of(text) is not None and is_real(kind):
            if keywords:
                self.refuse(s.line, f"{text} with keywords", "they are not known", "the function with its arguments only")
            for x in s.args:
                self.materialise(x)
            self.let("prim", s.args, (line_of(text), s), s.line, target=s.target)
        elif text in ("round", "np.round") and is_real(kind):
            self.as_written(s)  # to a number of digits: piecewise constant
        elif not is_real(kind) and not is_array(kind):
            for x in s.args:
                self.materialise(x)
            self.as_written(s)
        else:
            self.refuse(s.line, f"{text} of these arguments", "it has no derivative here", "a loop")

    def extremum(self, s: Let, kind: Any, symbol: str) -> None:
        """Python's min and max: the first of those that tie."""
        best = self.temp(kind)
        self.let("copy", (s.args[0],), None, s.line, target=best)
        for x in s.args[1:]:
            test = self.plain(f"x {symbol} best", s.line, types.boolean, x=x, best=best)
            then = self.collect(lambda x=x: self.let("copy", (x,), None, s.line, target=best) and None)
            self.out.append(If(test, then, [], s.line))
        self.let("copy", (best,), None, s.line, target=s.target)

    def of_tuple(self, s: Let, kind: Any) -> None:
        parts = tuple(self.tree(s.args[0]).parts)
        text = s.info[0]
        if text != "sum":
            self.extremum(Let(s.target, "func", parts, s.info, s.line), kind, "<" if text == "min" else ">")
            return
        total: Any = parts[0]
        for x in parts[1:]:
            made = self.temp(kind)
            self._binop(Let(made, "binop", (total, x), "+", s.line), kind)
            total = made
        self.let("copy", (total,), None, s.line, target=s.target)

    def full(self, s: Let, kind: Any) -> None:
        value = s.args[1]
        rest = [*s.args[:1], *s.args[2:]]
        keywords = s.info[1]
        name = "np.empty" if s.info[0] == "np.full" else "np.empty_like"
        if name == "np.empty" and len(rest) == 1:
            rest.append(Ref(dtype_name(kind.dtype), None))
        self.alloc(Let(s.target, "func", tuple(rest), (name, keywords), s.line))
        self.fill(s.target, value, s.line)

    def copied(self, s: Let, kind: Any) -> None:
        x = s.args[0]
        if isinstance(x, str) and x in self.lazy:
            self.materialise(x)
        source = self.kind(x)
        if s.info[0] in ("np.ascontiguousarray", "np.asarray") and (s.info[0] == "np.asarray" or source.layout == "C"):
            self.let("copy", (x,), None, s.line, target=s.target)
            return
        base = x if isinstance(x, str) else self.let("copy", (x,), None, s.line, source)
        made = s.target if s.target != base else self.temp(kind)
        self.empty_like(made, base, s.line)
        self.over(made, kind.ndim, s.line, lambda i: self.put(made, i, self.pick(base, i, s.line), s.line))
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)

    def reshaped(self, s: Let, kind: Any) -> None:
        x = s.args[0]
        self.materialise(x)
        of = self.kind(x)
        if s.info[0] == "np.ravel" and of.layout != "C":
            self.refuse(s.line, "ravel of a strided array", "it is a copy or a view, depending on the array", "a.copy().ravel()")
        if s.info[0] == "np.transpose" and len(s.args) > 1:
            self.refuse(s.line, "transpose with axes", "it is not known", "a.T")
        names = tuple(dict.fromkeys(y for a in s.args[1:] for y in leaves(self.tree(a)) if isinstance(y, str)))
        inner = syntax.expression(s, lambda y: syntax.name("BASE") if y == x else self.syntax_tree(self.tree(y)))
        self.let("view", (x, *names), inner, s.line, target=s.target)

    def dot(self, s: Let, kind: Any) -> None:
        for x in s.args:
            self.materialise(x)
        if not all(is_array(self.kind(x)) for x in s.args) or len(s.args) != 2:
            self.refuse(s.line, "this dot product", "numba has it for two arrays", "a loop")
        self.let("array", s.args, ("np.dot",), s.line, target=s.target)
