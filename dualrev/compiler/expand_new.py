class _Expansion(Functions):
    def run(self) -> Expanded:
        for x, kind in list(self.of.items()):
            self.check(x, kind)
        parameters = [self.tree(p) for p in self.lowered.parameters]
        if self.lowered.result == "_result":
            self.undefined(self.tree("_result"))
        self.block_into(self.lowered.body)
        result = self.lowered.result
        if isinstance(result, str) and result not in self.of:
            result = Const(None)
        self.materialise(result)
        kinds = {x: k for x, k in self.of.items() if not isinstance(k, types.BaseTuple)}
        return Expanded(self.lowered, parameters, self.out, self.tree(result), kinds, self.argtypes, self.classes)

    def undefined(self, tree: Any) -> None:
        """Give the parts of the result a value, for numba: it is never used."""
        line = self.source.tree.lineno
        for x in leaves(tree):
            kind = self.of[x]
            if is_array(kind):
                shape = ast.Tuple([ast.Constant(0)] * kind.ndim, ast.Load())
                empty = syntax.call("np.empty", shape, syntax.name(dtype_name(kind.dtype)))
                self.let("alloc", (), empty, line, target=x)
            elif not isinstance(kind, types.NoneType):
                zero: Any = 0.0 if is_real(kind) else False if isinstance(kind, types.Boolean) else 0
                self.let("copy", (Const(zero),), None, line, target=x)

    def block(self, body: list[Any]) -> list[Any]:
        return self.collect(lambda: self.block_into(body))

    def block_into(self, body: list[Any]) -> None:
        for s in body:
            self.statement(s)
        self.flush()

    # Statements

    def statement(self, s: Any) -> None:
        if any(isinstance(x, str) and x not in self.of for x in [*reads(s), *ends(s), *writes(s)]):
            return  # numba has found that this is never reached
        if isinstance(s, Let):
            self.operation(s)
            return
        if isinstance(s, Store):
            self.store(s)
            return
        for x in reads(s):
            self.materialise(x)
        self.flush()
        if isinstance(s, If):
            self.out.append(If(s.test, self.block(s.then), self.block(s.orelse), s.line))
        elif isinstance(s, For):
            self.out.append(For(s.target, s.start, s.stop, s.step, self.block(s.body), s.exits, s.line))
        elif isinstance(s, While):
            self.out.append(While(self.block(s.test_block), s.test, self.block(s.body), s.exits, s.line))
        elif isinstance(s, Effect):
            self.out.append(s)

    def operation(self, s: Let) -> None:
        kind = self.of[s.target]
        if s.op in ("binop", "unary", "func", "method", "iop") and self.elementwise(s, kind):
            return
        for x in reads(s):
            if not (s.op in ("func", "method") and isinstance(x, str) and x in self.lazy):
                self.materialise(x)
        getattr(self, f"_{s.op}")(s, kind)

    def _copy(self, s: Let, kind: Any) -> None:
        self.copy_tree(self.tree(s.target), self.tree(s.args[0]), s.line)

    def _tuple(self, s: Let, kind: Any) -> None:
        sources = [self.tree(x) for x in s.args]
        for t, x in zip(self.tree(s.target).parts, sources, strict=True):
            self.copy_tree(t, x, s.line)

    def _attr(self, s: Let, kind: Any) -> None:
        base, name = s.args[0], s.info
        of = self.kind(base)
        if isinstance(of, types.BaseNamedTuple):
            part = self.tree(base).parts[of.fields.index(name)]
            self.copy_tree(self.tree(s.target), part, s.line)
        elif is_array(of) and name == "shape":
            for k, t in enumerate(self.tree(s.target).parts):
                self.plain(f"a.shape[{k}]", s.line, target=t, a=base)
        elif is_array(of) and name in ("size", "ndim"):
            self.plain(f"a.{name}", s.line, target=s.target, a=base)
        elif is_array(of) and name == "T":
            self.let("view", (base,), syntax.name("BASE.T"), s.line, target=s.target)
        else:
            self.refuse(s.line, f"the attribute .{name}", "it is not known", "shape, size, ndim or T")

    def _getitem(self, s: Let, kind: Any) -> None:
        base = s.args[0]
        of = self.kind(base)
        if isinstance(of, types.BaseTuple):
            self.item(s, self.tree(base), kind)
        elif is_array(of):
            self.check_index(s.info, s.line)
            if is_array(kind):
                self.let("view", (base,), s.info, s.line, target=s.target)
            else:
                self.let("load", (base,), s.info, s.line, target=s.target)
        else:
            self.refuse(s.line, f"an index of a value of numba type {of}", "it is no array or tuple", "an array")

    def item(self, s: Let, tree: Any, kind: Any) -> None:
        (entry,) = s.info
        if isinstance(entry, Slice):
            bounds = []
            for x in (entry.lower, entry.upper, entry.step):
                if not (x is None or isinstance(x, Const)):
                    self.refuse(s.line, "a slice of a tuple", "its bounds are not constant", "constants")
                bounds.append(None if x is None else x.value)
            for t, x in zip(self.tree(s.target).parts, tree.parts[slice(*bounds)], strict=True):
                self.copy_tree(t, x, s.line)
        elif isinstance(entry, Const):
            self.copy_tree(self.tree(s.target), tree.parts[entry.value], s.line)
        else:
            n = len(tree.parts)
            k = self.plain("i + n if i < 0 else i", s.line, i=entry, n=Const(n))
            target = self.tree(s.target)
            rest: list[Any] = [Effect('raise IndexError("tuple index out of range")', (), s.line, True)]
            for number, part in reversed(list(enumerate(tree.parts))):
                test_block = self.collect(lambda number=number: self.plain(f"k == {number}", s.line, types.boolean, k=k))
                then = self.collect(lambda part=part: self.copy_tree(target, part, s.line))
                rest = [*test_block, If(test_block[-1].target, then, rest, s.line)]
            self.out.extend(rest)

    def _plain(self, s: Let, kind: Any) -> None:
        tree = s.info
        if any(isinstance(self.of.get(x), types.BaseTuple) for x in s.args):
            tree = _TupleParts(self).visit(syntax.substitute(tree, lambda x: None))
        names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in self.of]
        if any(self.is_tuple(x) for x in names):
            self.refuse(s.line, "this use of a tuple", "only its parts can be compared", "t[0], t[1], ...")
        for sub in ast.walk(tree):
            if isinstance(sub, ast.Subscript) and isinstance(sub.value, ast.Name):
                index = sub.slice.elts if isinstance(sub.slice, ast.Tuple) else [sub.slice]
                self.check_index(tuple(x.id for x in index if isinstance(x, ast.Name)), s.line)
        args = tuple(dict.fromkeys(names))
        self.let("plain", args, tree, s.line, target=s.target)

    def _iop(self, s: Let, kind: Any) -> None:
        self._binop(Let(s.target, "binop", s.args, s.info, s.line), kind)

    def _binop(self, s: Let, kind: Any) -> None:
        if s.info == "@":
            self.dot(s, kind)
        elif isinstance(kind, types.BaseTuple):
            both = [*self.tree(s.args[0]).parts, *self.tree(s.args[1]).parts]
            for t, x in zip(self.tree(s.target).parts, both, strict=True):
                self.copy_tree(t, x, s.line)
        elif is_real(kind) and line_of(s.info) is not None:
            self.let("prim", s.args, (line_of(s.info), s), s.line, target=s.target)
        else:
            self.as_written(s)

    def _unary(self, s: Let, kind: Any) -> None:
        if is_real(kind):
            self.let("prim", s.args, (line_of(f"{s.info}x"), s), s.line, target=s.target)
        else:
            self.as_written(s)

    def _call(self, s: Let, kind: Any) -> None:
        self.flush()
        result = self.tree(s.target)
        args = [self.tree(x) for x in s.args]
        self.out.append(Call([x for x in leaves(result) if isinstance(x, str)], s.info, args, result, s.line))
