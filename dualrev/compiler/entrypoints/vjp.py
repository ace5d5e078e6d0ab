"""Entry points of reverse mode: a gradient, a value with its gradient, or a pullback, around both sweeps.

It takes the arguments of the user's function apart, gives arrays that the function has changed their last values, and
puts the cotangents of the arguments together again.
"""

from __future__ import annotations

import ast
from collections.abc import Set

from numba.core import types

from dualrev.compiler.ad.differentiated import check_pair, check_scalar, chosen_numbers
from dualrev.compiler.ad.reverse.gradient_context import Facts
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.analysis.layout import asks_for_layout
from dualrev.compiler.analysis.values.nonzero_cotangents import NOTHING, Known
from dualrev.compiler.codegen.lines import Assign, Code, CodeStatement
from dualrev.compiler.codegen.module_builder import Emitted, ModuleBuilder, described
from dualrev.compiler.codegen.module_text import Writing
from dualrev.compiler.codegen.statements import Emission
from dualrev.compiler.entrypoints.tape_owner import Owned, owner
from dualrev.compiler.entrypoints.trampoline import trampoline
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.core.atom_types import is_array, is_real, is_real_array, type_of
from dualrev.compiler.ir.core.atoms import Atom, Constant, Node, Tree, Var
from dualrev.compiler.ir.core.nodes import Function
from dualrev.compiler.ir.core.traverse import leaves, statements, writes
from dualrev.compiler.types.aliases import ArgNums, Dispatcher, NumbaType, NumbaTypes
from dualrev.compiler.types.leaves import apart
from dualrev.compiler.types.predicates import is_list
from dualrev.errors import CotangentError

__all__ = ["Entry", "check_cotangent", "root"]


def check_cotangent(value: NumbaType, ct: NumbaType) -> None:
    """Raise CotangentError for a cotangent of another structure than the value."""
    ct, expected = types.unliteral(ct), ""
    if isinstance(value, types.BaseTuple):
        if isinstance(ct, types.BaseTuple) and len(ct.types) == len(value.types):
            for x, t in zip(value.types, ct.types, strict=True):
                check_cotangent(x, t)
        else:
            expected = f"a tuple with {len(value.types)} entries"
    elif isinstance(value, types.Float) and not isinstance(ct, (types.Float, types.Integer, types.Boolean)):
        expected = "a real scalar"
    elif isinstance(value, types.Array) and isinstance(value.dtype, types.Float):
        real = isinstance(ct, types.Array) and isinstance(ct.dtype, (types.Float, types.Integer, types.Boolean))
        expected = "" if real and ct.ndim == value.ndim else f"an array with {value.ndim} axes"
    if expected:
        raise CotangentError.of(str(ct), expected)


def root(module: ModuleBuilder, transform: str, argnums: ArgNums, argtypes: NumbaTypes, count: int) -> Emitted:
    """Emit the module of a gradient, of a value with its gradient, or of a `vjp`."""
    core = module.front.entered(module.f, argtypes[:count])
    chosen = chosen_numbers(argnums, core, argtypes[:count]) if transform != "vjp" else list(range(count))
    if module.is_plain:
        for kind in filter(is_list, argtypes[count:]):  # numba stumbles where it infers `array[...] = list`
            check_cotangent(type_of(core.result), kind)
        core = trampoline(core, module.f, module.front.program)
    name = module.names.fresh(f"{transform}_{core.name}")
    doc = described(transform, argnums, core.name)
    several = isinstance(argnums, (tuple, list))
    Entry(module, transform, chosen, core, module.f, core.origin.parameters).write(name, several, doc)
    return module.finish(name, f"{doc} Made by dualrev.")


class Entry:
    """Entry point of reverse mode, by the arguments `chosen`: a `pull` is a `vjp` without the value.

    f has the options of the numba function `of`; `parameters` are what its parameters are called in the text.
    """

    def __init__(
        self,
        module: ModuleBuilder,
        transform: str,
        chosen: list[int],
        f: Function,
        of: Dispatcher,
        parameters: list[str] | None = None,
    ) -> None:
        self.module, self.transform, self.chosen, self.f, self.of = module, transform, chosen, f, of
        self.source = f.origin.source
        self.pulls = transform in ("vjp", "pull")
        if transform.endswith("_aux"):
            check_pair(f)
        elif not self.pulls:
            check_scalar(f)
        self.results = leaves(f.result)
        shared = module.names.shared
        if self.pulls:
            self.given = {k: Var(f"ct_{k}", types.float64) for k in range(len(self.results))}
            seeds: dict[int, Atom] = {**self.given}
        else:
            self.given = {}
            seeds = {k: Constant(0.0, types.float64) for k, x in enumerate(self.results) if is_real(x)}
            seeds[0] = Constant(1.0, types.float64)
        varied = [x for k in chosen for x in leaves(f.parameters[k]) if carries(x)]
        known = NOTHING if self.pulls else Known((True, *(False for _ in self.results[1:])))
        self.sweeps = module.front.reverse.joint(f, varied, seeds, known, self._zeroed)
        self.facts = self.sweeps.facts
        self.emission = Emission(module.names, module.refer, f.checked, self.sweeps.own_tape, module.natural)
        self.forward, self.reverse = self.sweeps.forward_body, self.sweeps.reverse_body
        self.covered = self.sweeps.covered
        self.parameters = parameters or [self._word(x) for x in f.parameters]
        for name, tree in zip(self.parameters, f.parameters, strict=True):
            if isinstance(tree, Var):
                self.emission.call_it(tree, name)
        self.emission.introduce(self.facts.order)
        for k, ct in self.given.items():
            self.emission.call_it(ct, shared(f"ct_{k}"))

    def _zeroed(self, facts: Facts) -> list[Var]:
        """Arrays whose shadows are zero before the sweeps."""
        zeros = [x for x in facts.parameters if is_array(x) and facts.has_shadow(x)]
        if not self.pulls:
            return zeros
        find = facts.classes.find
        given = {find(x) for x in self.results if is_array(x)}  # what is given for results is added to their shadows
        return [x for x in zeros if find(x) not in given]

    def _word(self, x: Tree) -> str:
        """Name of a parameter in the text."""
        return self.emission.var(x) if isinstance(x, Var) else self.module.names.fresh("arg_{k}")

    def write(self, name: str, several: bool, doc: str) -> None:
        """Emit the function, whose gradient is a tuple if it is by several arguments."""
        module, body = self.module, (*self.forward, *self.reverse)
        module.passes.run(
            "emit", Writing(self.f, body, module.natural, lambda: self._emit(name, several, doc), module.text)
        )

    def _emit(self, name: str, several: bool, doc: str) -> None:
        module, facts, emission = self.module, self.facts, self.emission
        shared, text = module.names.shared, emission.var
        inputs = [x for x in facts.parameters if isinstance(x, Var)]
        arrays = [x for x in inputs if is_array(x)]
        before: list[CodeStatement] = []
        for word, tree in zip(self.parameters, self.f.parameters, strict=True):
            if isinstance(tree, Node):
                before += emission.parts(word, tree)
        rebound = {x for s in statements(self.f.body) for x in writes(s)}
        kept = {x: module.names.fresh("{}_given", text(x)) if x in rebound else text(x) for x in arrays}
        changed = {facts.classes.find(x) for s in statements(self.f.body) for x in facts.memory.changed(s)}
        wrote = [x for x in arrays if facts.classes.find(x) in changed]
        before += self._checks(arrays, wrote)
        strided = (
            {x for x in arrays if x.type.layout == "A"} if asks_for_layout(self.f, module.front.program) else set()
        )
        undone = self.sweeps.undone_classes
        finals = {x: shared(f"final_{k}") for k, x in enumerate(wrote) if facts.classes.find(x) in undone}
        body: list[CodeStatement] = [Code(f"{kept[x]} = {text(x)}", 0) for x in finals if kept[x] != text(x)]
        if self.sweeps.own_tape:
            body += [Code("words = runtime.words(tape)", 0), Code("top = 0", 0)]
        body += [Code("# the forward sweep", 0), *emission.block(self.forward)]
        body += [Code(f"runtime.store({final}, {kept[x]})", 0) for x, final in finals.items()]
        results = {} if self.transform == "pull" else self._keep_results(body, undone)
        body.append(Code("# the reverse sweep", 0))
        if self.pulls:
            self._unpack_cotangent(body)
        body += emission.block(self.reverse)
        body += [Code(f"runtime.store({kept[x]}, {final})", 0) for x, final in finals.items()]
        gradients = [self._gradient(self.f.parameters[k], strided) for k in self.chosen]
        gradient = ast.Tuple(gradients, ast.Load()) if several or self.transform == "vjp" else gradients[0]
        value = self._tree(self.f.result, results)
        returned: ast.expr = ast.Tuple([value, gradient], ast.Load())
        if self.transform in ("grad", "pull"):
            returned = gradient
        elif self.transform == "grad_aux":
            assert isinstance(self.f.result, Node)
            returned = ast.Tuple([gradient, self._tree(self.f.result.parts[1], results)], ast.Load())
        given = [*self.parameters, *["ct"] * self.pulls]
        values = {*results.values(), *(text(facts.cotangent(x)) for x in inputs if facts.is_scalar(x))}
        self._finish(name, given, doc, before, body, returned, values, finals, strided)

    def _checks(self, arrays: list[Var], wrote: list[Var]) -> list[CodeStatement]:
        """Code that checks that written arguments overlap neither themselves nor others."""
        text = self.emission.var
        found: list[CodeStatement] = [
            Code(f"runtime.check_spread({text(x)})", 0) for x in wrote if x.type.layout == "A"
        ]
        never = apart(self.f.parameters)
        for k, x in enumerate(arrays):
            for y in arrays[k + 1 :]:
                if (x in wrote or y in wrote) and frozenset((x, y)) not in never:
                    found.append(Code(f"runtime.check_apart({text(x)}, {text(y)})", 0))
        return found

    def _keep_results(self, body: list[CodeStatement], undone: Set[object]) -> dict[Var, str]:
        """Name the results; copy result arrays that are undone, alias arguments, or are on the tape."""
        facts, text, found = self.facts, self.emission.var, {}
        parameters = {facts.classes.find(x) for x in facts.parameters if is_array(x)}
        lent = undone | parameters | self.sweeps.forward.held_classes
        for k, x in enumerate(self.results):
            if isinstance(x, Var):
                found[x] = self.module.names.shared(f"result_{k}")
                if is_array(x) and facts.classes.find(x) in lent:
                    body.append(Code(f"{found[x]} = {text(x)}.copy()", 0))
                else:
                    body.append(Assign(ast.Name(found[x]), ast.Name(text(x)), 0))
        return found

    def _unpack_cotangent(self, body: list[CodeStatement]) -> None:
        """Unpack the cotangent `ct`: its scalars are the seeds, its arrays are added to the shadows."""
        count = 0

        def visit(tree: Tree, word: str) -> None:
            """Unpack the cotangent of a subtree of the result."""
            nonlocal count
            if isinstance(tree, Node):
                for k, part in enumerate(tree.parts):
                    visit(part, f"{word}[{k}]")
                return
            k, count = count, count + 1
            if is_array(tree):
                if isinstance(tree, Var) and self.facts.has_shadow(tree):
                    shadow = self.emission.var(self.facts.cotangent(tree))
                    add = "add_cotangent" if self.transform == "vjp" else "add_to"
                    body.append(Code(f"runtime.{add}({shadow}, {word})", 0))
            elif is_real(tree):
                body.append(Code(f"{self.emission.var(self.given[k])} = {word}", 0))

        visit(self.f.result, "ct")

    def _gradient(self, tree: Tree, strided: set[Var]) -> ast.expr:
        """Syntax of the gradient with respect to an argument, in its structure; arrays are contiguous."""
        if isinstance(tree, Node):
            parts = [self._gradient(x, strided) for x in tree.parts]
            return ast.Tuple(parts, ast.Load()) if tree.cls is None else to_python.call(tree.cls.name, *parts)
        if not isinstance(tree, Var):
            return ast.Constant(None)
        if is_real_array(tree):
            name = self.emission.var(self.facts.cotangent(tree))
            return to_python.name(f"{name}.copy()") if tree in strided else ast.Name(name)
        if is_real(tree):
            scalar = self.facts.is_scalar(tree)
            made = ast.Name(self.emission.var(self.facts.cotangent(tree))) if scalar else to_python.number(0.0)
            return to_python.call("np.float32", made) if tree.type == types.float32 else made
        return ast.Constant(None)

    def _tree(self, tree: Tree, results: dict[Var, str]) -> ast.expr:
        if isinstance(tree, Node):
            parts = [self._tree(x, results) for x in tree.parts]
            return ast.Tuple(parts, ast.Load()) if tree.cls is None else to_python.call(tree.cls.name, *parts)
        return ast.Name(results[tree]) if isinstance(tree, Var) and tree in results else self.emission.atom(tree)

    def _finish(
        self,
        name: str,
        given: list[str],
        doc: str,
        before: list[CodeStatement],
        body: list[CodeStatement],
        returned: ast.expr,
        values: set[str],
        finals: dict[Var, str],
        strided: set[Var],
    ) -> None:
        """Emit the function, in two if it owns memory: then the owner calls the sweeps."""
        module, facts, text = self.module, self.facts, self.emission.var
        inputs = [x for x in facts.parameters if isinstance(x, Var)]
        chosen = {x for k in self.chosen for x in leaves(self.f.parameters[k])}
        owned = Owned(
            inputs=[text(x) for x in inputs],
            shadows={text(x): text(facts.cotangent(x)) for x in inputs if facts.has_shadow(x)},
            zeros={text(x): text(facts.cotangent(x)) for x in inputs if x in chosen and is_real_array(x)},
            finals={text(x): final for x, final in finals.items()},
            strided={text(x) for x in strided},
            covered={text(x) for x in self.covered},
            more=given[len(self.parameters) :],
            slots=self.sweeps.forward.slots,
            uses_tape=self.sweeps.uses_tape,
        )
        word = self.source.tree.name
        sweeps = module.names.fresh(f"{word}{{n}}_sweeps")
        made = owner(owned, values, returned, sweeps, module.names)
        if made is None:
            body = [*before, *body, Code(f"return {to_python.text(returned)}", 0)]
        else:
            inner, last, code = made
            module.function(sweeps, inner, f"Both sweeps of {word}.", [*body, *last], self.source, self.of)
            body = [*before, *code]
        module.function(name, given, doc, body, self.source, self.of)
