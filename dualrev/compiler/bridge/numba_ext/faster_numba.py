"""Type inference, SSA construction and lowering by numba, faster and with the same results, for derivatives.

A derivative is a few long functions of scalars, and numba's compiler is made for many short ones. It types each `a + b`
by trying all declarations of `+`, asks all its registries for new declarations at each call of an intrinsic, reads all
options to compare two sets of them, and visits all statements for each variable that is assigned twice. Here it
remembers, and visits the statements that matter.

    with faster_numba():      numba's functions are replaced
        ...                   and put back
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

from numba.core import base, ir, lowering, postproc, ssa, targetconfig, transforms, types
from numba.core.types import functions
from numba.core.typing import context as typing_context

__all__ = ["faster_numba", "original_numba"]

_NUMBERS = {types.Integer, types.Float, types.Complex, types.Boolean, types.IntegerLiteral, types.BooleanLiteral}
_LISTS = "functions", "attributes", "globals", "getattrs", "setattrs", "casts", "constants"  # of a registry


def faster_numba() -> contextlib.AbstractContextManager[None]:
    """Replace functions of numba in a `with` statement, by one that holds its compiler lock."""
    return _put({(owner, name): new for owner, name, new in _REPLACED})


def original_numba() -> contextlib.AbstractContextManager[None]:
    """Use numba's own functions again, inside of that."""
    return _put(_OWN)


@contextlib.contextmanager
def _put(functions: dict[tuple[Any, str], Any]) -> Iterator[None]:
    before = {(owner, name): vars(owner)[name] for owner, name in functions}
    try:
        for (owner, name), function in functions.items():
            setattr(owner, name, function)
        yield
    finally:
        for (owner, name), function in before.items():
            setattr(owner, name, function)


def _around(made: Callable[[Any], Any], owner: Any, name: str) -> tuple[Any, str, Any]:
    """Replacement that calls numba's own function where it has no answer."""
    return owner, name, made(vars(owner)[name])


# Types


def _hashed_flags(own: Any) -> Any:
    known: dict[Any, int] = {}

    def hash_of(self: Any) -> int:
        """Return numba's hash, which is that of the options' names: one for each class."""
        kind = type(self)
        if kind not in known:
            known[kind] = own(self)
        return known[kind]

    return hash_of


def _same_flags(own: Any) -> Any:
    def equal(self: Any, other: Any) -> Any:
        """Compare the options that are set in one of the two; numba reads all options of both."""
        if self is other:
            return True
        if type(self) is not type(other):
            return own(self, other)
        one, two, options = self._values, other._values, self.options
        if one == two:
            return True
        for name in one.keys() | two.keys():
            default = options[name].default
            if one.get(name, default) != two.get(name, default):
                return False
        return True

    return equal


def _call_of_numbers(own: Any) -> Any:
    known: dict[Any, tuple[Any, Any]] = {}

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        """Type a call of a function that numba declares for numbers, such as an operator: once for these types."""
        if kws or not _NUMBERS.issuperset(map(type, args)):
            return own(self, context, args, kws)
        key = self, context, tuple(args)
        if key not in known:
            found = own(self, context, args, kws)
            if self._impl_keys.get(found.args) is not self.typing_key:  # compiled for these types and these flags
                return found
            known[key] = found, self.typing_key
        found, self._impl_keys[found.args] = known[key]
        return found

    return get_call_type


def _refreshed(own: Any) -> Any:
    def refresh(self: Any) -> None:
        """Ask the registries for new declarations, if there are some."""
        seen = _declarations(self)  # before numba asks: another thread may declare more meanwhile
        if self.__dict__.get("_dualrev_seen") != seen:
            own(self)
            self._dualrev_seen = seen
        elif isinstance(self, base.BaseContext):
            self.typing_context.refresh()

    return refresh


def _declarations(context: Any) -> int:
    """Number of the declarations in all registries of a context, and of the registries."""
    lists = [vars(registry).get(name, ()) for registry in context._registries for name in _LISTS]
    return sum(map(len, lists)) + len(lists)


# Analyses


def _listed(own: Any) -> Any:
    def _rec_list_vars(self: Any, x: Any) -> list[Any]:
        """Variables within a value; numba asks for each kind of value in turn."""
        kind = type(x)
        if kind is ir.Var:
            return [x]
        if kind is dict:
            x = x.values()
        elif kind is not list and kind is not tuple:
            return [] if kind in _WITHOUT else own(self, x)
        found: list[Any] = []
        for part in x:
            kind = type(part)
            if kind is ir.Var:
                found.append(part)
            elif kind not in _WITHOUT:
                found += part.list_vars() if kind is ir.Expr else _rec_list_vars(self, part)
        return found

    return _rec_list_vars


_WITHOUT = {ir.Loc, str, int, float, bool, type(None), ir.Const, ir.Global, ir.FreeVar, ir.Arg, types.Function}


def _processed(own: Any) -> Any:
    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        """Analyse the lifetimes of variables when they are asked for; numba does after each pass."""
        f, flags = self.func_ir, targetconfig.ConfigStack.top_or_none()
        if emit_dels or f.is_generator or flags is None or flags.force_pyobject:
            own(self, emit_dels, extend_lifetimes)
            return
        f.blocks = transforms.canonicalize_cfg(f.blocks)
        f.variable_lifetime, f.generator_info = postproc.VariableLifetime(f.blocks), None

    return run


def _reconstructed(own: Any) -> Any:
    def _run_ssa(blocks: Any) -> Any:
        """Reconstruct SSA; meanwhile, the names in blocks and in statements are known."""
        try:
            return own({label: copy(block) for label, block in blocks.items()})
        finally:
            _IN_STATEMENT.clear()
            _IN_BODY.clear()

    return _run_ssa


def _rewritten(_: Any) -> Any:
    def _run_block_rewrite(blocks: Any, states: dict[str, Any], handler: Any) -> Any:
        """Rewrite the statements that name a variable; numba visits all of them."""
        made, name = dict(blocks), states["varname"]
        for label, block in blocks.items():
            if name not in _in_body(block.body):
                continue
            states["label"], states["block"] = label, block
            made[label] = new = ir.Block(scope=block.scope, loc=block.loc)
            new.body = [
                statement
                if name not in _in_statement(statement)
                else handler.on_assign(states, statement)
                if isinstance(statement, ir.Assign)
                else handler.on_other(states, statement)
                for statement in block.body
            ]
        return made

    return _run_block_rewrite


# Names of the variables in the function whose SSA numba reconstructs
_IN_STATEMENT: dict[Any, set[str]] = {}
_IN_BODY: dict[int, tuple[Any, set[str]]] = {}  # by the identity of the list of statements, which this keeps alive


def _in_statement(statement: Any) -> set[str]:
    found = _IN_STATEMENT.get(statement)
    if found is None:
        _IN_STATEMENT[statement] = found = {x.name for x in statement.list_vars()}
    return found


def _in_body(body: list[Any]) -> set[str]:
    if id(body) not in _IN_BODY:
        _IN_BODY[id(body)] = body, set().union(*map(_in_statement, body))
    return _IN_BODY[id(body)][1]


# Lowering


def _sized(own: Any) -> Any:
    known: dict[tuple[str, str], int] = {}

    def get_abi_sizeof(self: Any, kind: Any) -> Any:
        """Size of a type in bytes; numba has LLVM parse a module for it."""
        text = str(kind)
        if "%" in text:  # a name, which stands for other types elsewhere
            return own(self, kind)
        key = str(self.target_data), text
        if key not in known:
            known[key] = own(self, kind)
        return known[key]

    return get_abi_sizeof


def _called_from_c(own: Any) -> Any:
    def create_cfunc_wrapper(self: Any) -> None:
        """Make the function that C calls, but for numba's own implementations, and for emitted functions."""
        package = (self.fndesc.modname or "").partition(".")[0]
        if not self.flags.no_cpython_wrapper or package not in {"numba", "dualrev"}:  # a user's may be a `cfunc`
            own(self)

    return create_cfunc_wrapper


_REPLACED = [
    _around(_hashed_flags, targetconfig.TargetConfig, "__hash__"),
    _around(_same_flags, targetconfig.TargetConfig, "__eq__"),
    _around(_call_of_numbers, functions.BaseFunction, "get_call_type"),
    _around(_refreshed, base.BaseContext, "refresh"),
    _around(_refreshed, typing_context.BaseContext, "refresh"),
    _around(_listed, ir.Inst, "_rec_list_vars"),
    _around(_processed, postproc.PostProcessor, "run"),
    _around(_reconstructed, ssa, "_run_ssa"),
    _around(_rewritten, ssa, "_run_block_rewrite"),
    _around(_sized, base.BaseContext, "get_abi_sizeof"),
    _around(_called_from_c, lowering.BaseLower, "create_cfunc_wrapper"),
]
_OWN = {(owner, name): vars(owner)[name] for owner, name, _ in _REPLACED}
