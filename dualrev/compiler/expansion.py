class Expansion:
    """What all of expanding needs."""

    def __init__(self, lowered: Lowered, typed: Typed, argtypes: tuple[Any, ...]) -> None:
        self.lowered, self.source, self.argtypes = lowered, lowered.source, argtypes
        self.of = dict(typed.of)
        self.typed = typed
        self.out: list[Any] = []
        self.count = 0
        self.lazy: dict[str, _Lazy] = {}
        self.part_names: dict[tuple[str, int], str] = {}
        self.uses = Counter(x for s in walk(lowered.body) for x in reads(s) if isinstance(x, str))
        self.uses[lowered.result] += 1  # type: ignore[index]
        self.classes: dict[Any, Ref] = {}
        self.alias = _Aliases()
        for s in walk(lowered.body):
            if isinstance(s, Let):
                for x in s.args:
                    if isinstance(x, (str, Ref)) and is_array(self.of.get(s.target)) | self.is_tuple(s.target):
                        self.alias.join(s.target, x if isinstance(x, str) else x.name)

    def check(self, x: str, kind: Any) -> None:
        """Refuse types that have no derivative."""
        if isinstance(kind, types.Complex) or (is_array(kind) and isinstance(kind.dtype, types.Complex)):
            self.refuse(self.line_of(x), f"the complex number {x}", "only real numbers are", "real and imaginary parts")
        if isinstance(kind, types.Optional):
            why = "it is None on some paths, which may be that a `return` is missing"
            self.refuse(self.line_of(x), f"the value of {x.strip('_')}", why, "a number on every path")
        if isinstance(kind, types.BaseTuple):
            for k, part in enumerate(kind.types):
                self.check(f"{x}[{k}]", part)
            return
        scalar = (types.Float, types.Integer, types.Boolean, types.NoneType, types.Array, types.UnicodeType)
        functions = (types.Dispatcher, types.Function, types.NumberClass, types.DType, types.ClassType)
        if not isinstance(kind, (*scalar, *functions)):
            self.refuse(self.line_of(x), f"the variable {x} (numba type {kind})", "it is no number, array or tuple", "one")
        if is_array(kind) and not isinstance(kind.dtype, (types.Float, types.Integer, types.Boolean)):
            self.refuse(self.line_of(x), f"the array {x} (numba type {kind})", "its elements are no numbers", "floats")

    def line_of(self, x: str) -> int:
        base = x.split("[")[0]
        for s in walk(self.lowered.body):
            if isinstance(s, Let) and s.target == base:
                return s.line
        return self.source.tree.lineno

    def refuse(self, line: int, what: str, why: str, instead: str) -> Any:
        self.source.refuse(line, what, why, instead)

    # Names, trees, types

    def temp(self, kind: Any) -> str:
        while True:
            self.count += 1
            name = f"_t{self.count}"
            if name not in self.of:
                self.of[name] = kind
                return name

    def kind(self, x: Any) -> Any:
        """The type of an atom."""
        return self.of[x] if isinstance(x, str) else self.typed(x)

    def is_tuple(self, x: Any) -> bool:
        return isinstance(x, str) and isinstance(self.of.get(x), types.BaseTuple)

    def tree(self, x: Any) -> Any:
        """An atom, or the tree of a tuple's parts."""
        if isinstance(x, Ref) and isinstance(x.value, tuple):
            return self.constant_tree(x)
        if not self.is_tuple(x):
            return x
        return self.parts(x, self.of[x])

    def parts(self, x: str, kind: Any) -> Any:
        if not isinstance(kind, types.BaseTuple):
            self.of.setdefault(x, kind)
            return x
        cls = None
        if isinstance(kind, types.BaseNamedTuple):
            cls = self.class_ref(kind.instance_class)
        return Node(tuple(self.parts(self.part_name(x, k), t) for k, t in enumerate(kind.types)), cls)

    def part_name(self, x: str, k: int) -> str:
        """The name of a part of a tuple: t_0, unless the program has a variable of this name."""
        if (x, k) not in self.part_names:
            name = f"{x}_{k}"
            while name in self.typed.of or name in self.part_names.values():
                name += "_"
            self.part_names[x, k] = name
        return self.part_names[x, k]

    def class_ref(self, cls: Any) -> Ref:
        if cls not in self.classes:
            self.classes[cls] = next(r for r in self.lowered.refs.values() if r.value is cls)
        return self.classes[cls]

    def constant_tree(self, x: Ref) -> Any:
        """A frozen tuple, as its numbers."""

        def build(value: Any, path: tuple[Any, ...]) -> Any:
            if isinstance(value, tuple):
                cls = self.class_ref(type(value)) if hasattr(value, "_fields") else None
                return Node(tuple(build(v, (*path, ("item", k))) for k, v in enumerate(value)), cls)
            if value is None or isinstance(value, (bool, int, float, str)):
                return Const(value)
            name = x.name + "".join(f"_{s[1]}" for s in path[len(x.path) :])
            self.lowered.refs[name] = Ref(name, value, path)
            return self.lowered.refs[name]

        return build(x.value, x.path)

    # Writing

    def let(self, op: str, args: tuple[Any, ...], info: Any, line: int, kind: Any = None, target: str = "") -> str:
        target = target or self.temp(kind)
        self.out.append(Let(target, op, args, info, line))
        return target

    def plain(self, text: str, line: int, kind: Any = types.int64, target: str = "", **names: Any) -> str:
        """target = the text, with atoms for the names in it."""
        tree = syntax.substitute(syntax.name(text), lambda x: syntax.atom(names[x]) if x in names else None)
        args = tuple(x for x in names.values() if isinstance(x, str))
        return self.let("plain", args, tree, line, kind, target)

    def copy_tree(self, target: Any, source: Any, line: int) -> None:
        if isinstance(target, Node):
            if not isinstance(source, Node):
                self.refuse(line, "this tuple", "its parts are not known", "the parts")
            for t, s in zip(target.parts, source.parts, strict=True):
                self.copy_tree(t, s, line)
        else:
            self.let("copy", (source,), None, line, target=target)

    def collect(self, work: Callable[[], None]) -> list[Any]:
        before, self.out = self.out, []
        try:
            work()
            return self.out
        finally:
            self.out = before

    def syntax_tree(self, tree: Any) -> ast.expr:
        if isinstance(tree, Node):
            parts = [self.syntax_tree(x) for x in tree.parts]
            return ast.Tuple(parts, ast.Load()) if tree.cls is None else syntax.call(tree.cls.name, *parts)
        return syntax.atom(tree)

    def as_written(self, s: Let) -> None:
        """An operation without derivative."""
        args = []
        for x in s.args:
            if self.is_tuple(x):
                tree = self.tree(x)
                args.append(tree)
                continue
            args.append(x)

        def sub(x: Any) -> ast.expr:
            return self.syntax_tree(self.tree(x))

        expression = syntax.expression(s, sub)
        names = tuple(dict.fromkeys(x for a in s.args for x in leaves(self.tree(a)) if isinstance(x, str)))
        self.let("plain", names, expression, s.line, target=s.target)

    def check_index(self, index: tuple[Any, ...], line: int) -> None:
        for entry in index:
            if isinstance(entry, (str, Ref)) and not isinstance(self.kind(entry), (types.Integer, types.Boolean)):
                self.refuse(line, "an index that is an array", "only ints and slices are known", "a loop over the index")
            if isinstance(entry, str) and isinstance(self.kind(entry), types.Boolean):
                self.refuse(line, "an index that is a bool", "only ints and slices are known", "a branch")

    def alloc(self, s: Let) -> None:
        def sub(x: Any) -> ast.expr:
            return self.syntax_tree(self.tree(x))

        names = tuple(dict.fromkeys(x for a in s.args for x in leaves(self.tree(a)) if isinstance(x, str)))
        self.let("alloc", names, syntax.expression(s, sub), s.line, target=s.target)
