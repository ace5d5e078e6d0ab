class Expressions(Scope):
    """x"""

    def atom(self, node: ast.expr) -> Atom:
        """The atom that holds the value of an expression."""
        if isinstance(node, ast.Name) and node.id in self.locals and node.id not in self.functions:
            return self.name(node.id)
        static = self.static(node)
        if static is not None:
            return self.constant(node, static)
        return self.expr(node)

    def variable(self, node: ast.expr) -> str:
        """The same, as a name."""
        x = self.atom(node)
        if isinstance(x, str):
            return x
        return self.let(self.temp(), "copy", (x,), None, node.lineno)

    def expr(self, node: ast.expr, target: str | None = None) -> Atom:
        """Write statements that give `target` (or a new name) the value of the expression."""
        if target is None and isinstance(node, (ast.Name, ast.Constant)):
            return self.atom(node)
        static = self.static(node)
        if isinstance(node, ast.Name) or static is not None:
            assert target is not None or static is not None
            if target is None:
                assert static is not None
                return self.constant(node, static)
            return self.let(target, "copy", (self.atom(node),), None, node.lineno)
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            what, instead = _EXPRESSIONS.get(type(node).__name__, (f"a {type(node).__name__} expression", "it in other words"))
            return self.refuse(node, what, "the compiler does not know it", instead)
        return method(node, target if target is not None else self.temp())

    def _BinOp(self, node: ast.BinOp, target: str) -> Atom:  # noqa: N802
        symbol = BINARY.get(type(node.op))
        if symbol is None:
            return self.refuse(node, "this operator", "it is not known", "an operator of arithmetic")
        args = (self.atom(node.left), self.atom(node.right))
        return self.let(target, "binop", args, symbol, node.lineno)

    def _UnaryOp(self, node: ast.UnaryOp, target: str) -> Atom:  # noqa: N802
        if isinstance(node.op, ast.Not):
            return self.condition(node, target)
        symbol = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
        return self.let(target, "unary", (self.atom(node.operand),), symbol, node.lineno)

    def _Compare(self, node: ast.Compare, target: str) -> Atom:  # noqa: N802
        return self.condition(node, target)

    def _BoolOp(self, node: ast.BoolOp, target: str) -> Atom:  # noqa: N802
        return self.condition(node, target)

    def condition(self, node: ast.expr, target: str) -> Atom:
        """Comparisons and `and`, `or`, `not`: as they are written if they call no numba function."""
        names: list[str] = []
        try:
            expression = self.plain(node, names)
        except _NotPlain:
            pass
        else:
            return self.let(target, "plain", tuple(dict.fromkeys(names)), expression, node.lineno)
        line = node.lineno
        if isinstance(node, ast.UnaryOp):
            operand = self.variable(node.operand)
            return self.let(target, "plain", (operand,), ast.UnaryOp(ast.Not(), ast.Name(operand)), line)
        if isinstance(node, ast.BoolOp):
            self.expr(node.values[0], target)
            rest = node.values[1:]
            if rest:
                more = self.collect(lambda: self.expr_again(node.op, rest, target, line))
                branches = (more, []) if isinstance(node.op, ast.And) else ([], more)
                self.out.append(If(target, *branches, line))
            return target
        assert isinstance(node, ast.Compare)
        atoms = [self.variable(x) for x in [node.left, *node.comparators]]
        for op in node.ops:
            if type(op) not in COMPARE:
                self.refuse(node, "this comparison", "it is not known", "a comparison of numbers")
        expression = ast.Compare(ast.Name(atoms[0]), node.ops, [ast.Name(a) for a in atoms[1:]])
        return self.let(target, "plain", tuple(dict.fromkeys(atoms)), expression, line)

    def expr_again(self, op: ast.boolop, values: list[ast.expr], target: str, line: int) -> None:
        node = values[0] if len(values) == 1 else ast.BoolOp(op, values, lineno=line)
        self.expr(node, target)

    def plain(self, node: ast.AST, names: list[str]) -> Any:
        """The expression with our names for the user's; _NotPlain if it has effects or needs types."""
        if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and self.static(node) is not None):
            static = self.static(node)
            if static is None:
                assert isinstance(node, ast.Name)
                names.append(self.name(node.id))
                return ast.Name(self.name(node.id))
            if type(static.value) in (int, float, bool) and math.isfinite(static.value):
                return ast.Constant(static.value)
            raise _NotPlain
        if isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.Compare) and all(type(op) in COMPARE for op in node.ops):
            return ast.Compare(
                self.plain(node.left, names), node.ops, [self.plain(x, names) for x in node.comparators]
            )
        if isinstance(node, ast.BoolOp):
            return ast.BoolOp(node.op, [self.plain(x, names) for x in node.values])
        if isinstance(node, ast.UnaryOp):
            return ast.UnaryOp(node.op, self.plain(node.operand, names))
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY and not isinstance(node.op, ast.MatMult):
            return ast.BinOp(self.plain(node.left, names), node.op, self.plain(node.right, names))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and not isinstance(node.slice, ast.Slice):
            if self.static(node.value) is not None:
                raise _NotPlain
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(x, (ast.Slice, ast.Starred)) for x in parts):
                raise _NotPlain
            done = [self.plain(x, names) for x in parts]
            index = ast.Tuple(done, ast.Load()) if isinstance(node.slice, ast.Tuple) else done[0]
            return ast.Subscript(self.plain(node.value, names), index, ast.Load())
        if isinstance(node, ast.Call) and not node.keywords:
            static = self.static(node.func)
            text = canonical(static.value) if static is not None else None
            if text in pure_functions():
                return ast.Call(ast.parse(text, mode="eval").body, [self.plain(x, names) for x in node.args], [])
        raise _NotPlain

    def _IfExp(self, node: ast.IfExp, target: str) -> Atom:  # noqa: N802
        test = self.atom(node.test)
        result = self.temp()  # the branches may read the target
        then = self.collect(lambda: self.expr(node.body, result) and None)
        orelse = self.collect(lambda: self.expr(node.orelse, result) and None)
        self.out.append(If(test, then, orelse, node.lineno))
        return self.let(target, "copy", (result,), None, node.lineno)

    def _Tuple(self, node: ast.Tuple, target: str) -> Atom:  # noqa: N802
        if any(isinstance(x, ast.Starred) for x in node.elts):
            return self.refuse(node, "a starred expression", "its length is not known", "every value")
        return self.let(target, "tuple", tuple(self.atom(x) for x in node.elts), None, node.lineno)

    def _Attribute(self, node: ast.Attribute, target: str) -> Atom:  # noqa: N802
        return self.let(target, "attr", (self.variable(node.value),), node.attr, node.lineno)

    def _Subscript(self, node: ast.Subscript, target: str) -> Atom:  # noqa: N802
        base = self.atom(node.value)
        if isinstance(base, Const):
            return self.refuse(node, "an index of a constant", "it is no array or tuple", "the value itself")
        return self.let(target, "getitem", (base,), self.index(node.slice), node.lineno)

    def index(self, node: ast.expr) -> tuple[Any, ...]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        entries: list[Any] = []
        for part in parts:
            if isinstance(part, ast.Slice):
                lower, upper, step = (None if x is None else self.atom(x) for x in (part.lower, part.upper, part.step))
                entries.append(Slice(lower, upper, step))
            elif isinstance(part, ast.Starred):
                self.refuse(part, "a starred index", "its length is not known", "every index")
            elif isinstance(part, ast.Constant) and part.value is Ellipsis:
                entries.append(Ellipsis)
            else:
                static = self.static(part)
                entries.append(None if static is not None and static.value is None else self.atom(part))
        return tuple(entries)

    # Calls

    def _Call(self, node: ast.Call, target: str) -> Atom:  # noqa: N802
        if any(isinstance(x, ast.Starred) for x in node.args) or any(k.arg is None for k in node.keywords):
            return self.refuse(node, "a call with * or **", "the number of arguments is not known", "every argument")
        static = self.static(node.func)
        if static is None:
            if isinstance(node.func, ast.Attribute):
                args = [self.variable(node.func.value), *(self.atom(x) for x in node.args)]
                args += [self.atom(k.value) for k in node.keywords]
                keywords = tuple(str(k.arg) for k in node.keywords)
                return self.let(target, "method", tuple(args), (node.func.attr, keywords), node.lineno)
            return self.refuse(node, "a call of a variable", "which function it is, is not known", "a numba function")
        f = static.value
        if is_numba_function(f):
            return self.call(node, static, target)
        if isinstance(f, type) and issubclass(f, tuple) and hasattr(f, "_fields"):
            args = self.bound(node, list(f._fields), dict(getattr(f, "_field_defaults", {})), f.__name__)
            return self.let(target, "tuple", tuple(args), self.ref(static), node.lineno)
        text = canonical(f)
        if text is None:
            name = describe(f)
            if callable(f) and hasattr(f, "__code__"):
                return self.refuse(node, f"the call of {name}", "it is no numba function", "@njit above its definition")
            return self.refuse(node, f"the call of {name}", "it has no derivative here", "it with loops or the functions of the table")
        keywords = tuple(str(k.arg) for k in node.keywords)
        given = [self.function_argument(x, text) for x in [*node.args, *(k.value for k in node.keywords)]]
        return self.let(target, "func", tuple(given), (text, keywords), node.lineno)

    def function_argument(self, node: ast.expr, text: str) -> Atom:
        static = self.static(node)
        if static is not None and isinstance(static.value, (type, np.dtype)):
            kind = CASTS.get(static.value if isinstance(static.value, type) else static.value.type)
            if kind is None:
                self.refuse(node, f"the dtype {static.value}", "it is no float, int or bool", "np.float64")
            assert kind is not None
            return Ref(kind, static.value)
        return self.atom(node)

    def call(self, node: ast.Call, static: Static, target: str) -> Atom:
        import inspect

        signature = inspect.signature(static.value.py_func)
        names = []
        for p in signature.parameters.values():
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                self.refuse(node, f"the call of {describe(static.value.py_func)}", "it has *args", "every argument")
            names.append(p.name)
        defaults = {p.name: p.default for p in signature.parameters.values() if p.default is not p.empty}
        args = self.bound(node, names, defaults, describe(static.value.py_func), static.path)
        self.ref(static)
        return self.let(target, "call", tuple(args), self.ref(static), node.lineno)

    def bound(
        self, node: ast.Call, names: list[str], defaults: dict[str, Any], what: str, path: tuple[Any, ...] = ()
    ) -> list[Atom]:
        """The arguments of a call in the order of the parameters."""
        given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
        given.update({str(k.arg): k.value for k in node.keywords})
        atoms: dict[str, Atom] = {name: self.atom(x) for name, x in given.items()}
        if len(node.args) > len(names) or set(given) - set(names):
            self.refuse(node, f"the call of {what}", "it has other parameters", "their names")
        args: list[Atom] = []
        for name in names:
            if name in atoms:
                args.append(atoms[name])
            elif name in defaults:
                args.append(self.constant(node, Static(defaults[name], (*path, ("default", name)))))
            else:
                self.refuse(node, f"the call of {what}", f"the argument {name} is missing", "it")
        return args
