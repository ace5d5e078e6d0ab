"""The heap for the items of one type: which variables hold items, and what a statement puts into a container."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.types.aliases import NumbaType, NumbaTypes
from dualrev.compiler.types.predicates import NUMBERS, is_array, is_list

__all__ = ["CHANGING", "LIST_METHODS", "Heap", "item_of", "values_of"]

#: Methods that change the length of a list.
CHANGING = {"append", "pop", "insert", "remove", "clear", "extend"}
#: The methods of lists that are items.
LIST_METHODS = {*CHANGING, "copy", "count", "index", "reverse", "sort"}
#: Methods with an argument that is an item, and its place.
_PLACES = {"append": 1, "insert": 2, "get": 2, "pop": 2, "setdefault": 2}


def item_of(kind: NumbaType) -> NumbaType:
    """The type of the items of a container of arrays or lists of numbers; None of any other type."""
    item: NumbaType = kind.dtype if is_list(kind) else kind.value_type if isinstance(kind, types.DictType) else None
    if is_array(item):
        return item if item.ndim > 0 and item.layout != "F" and isinstance(item.dtype, NUMBERS) else None
    return item if is_list(item) and isinstance(item.dtype, NUMBERS) else None


def _inside(kind: NumbaType) -> NumbaTypes:
    """Types of the items of a container type."""
    match kind:
        case types.DictType():
            return (kind.value_type,)
        case types.List() | types.ListType():
            return (kind.dtype,)
        case types.BaseTuple():
            return tuple(kind.types)
        case types.Optional():
            return (kind.type,)
    return (kind.parent,) if hasattr(kind, "parent") else ()


def values_of(tree: ast.expr) -> list[str]:
    """The names of the values in the display of a dict."""
    return [x.id for x in tree.values if isinstance(x, ast.Name)] if isinstance(tree, ast.Dict) else []


class Heap:
    """The heap for the items of one type.

    outer        variables that are dicts or lists of containers, views of these and so on
    containers   variables that are dicts or lists of items
    views        d.values() and the like, and lists of these
    pairs        tuples of a key and an item
    items        variables that are items
    """

    def __init__(self, item: NumbaType, of: dict[str, NumbaType], refs: Mapping[str, anf.Ref]) -> None:
        self.item, self.of, self.refs = item, of, refs
        self.containers, self.views, self.pairs, self.items = set[str](), set[str](), set[str](), set[str]()
        self.outer = {x for x, kind in of.items() if self._nests(kind)}

    def _nests(self, kind: NumbaType) -> bool:
        return any(self.is_item(item_of(x)) or self._nests(x) for x in _inside(kind))

    def is_item(self, kind: NumbaType) -> bool:
        """Whether a type is an item's; what pop of a dict gives may be None for numba."""
        kind = kind.type if isinstance(kind, types.Optional) else kind
        if is_list(self.item):
            return bool(is_list(kind) and kind.dtype == self.item.dtype)
        return bool(is_array(kind) and (kind.dtype, kind.ndim) == (self.item.dtype, self.item.ndim))

    def swapped(self, kind: NumbaType) -> NumbaType:
        """A type with the one of handles in place of the one of items."""
        if self.is_item(kind):
            return types.int64
        match kind:
            case types.Optional():
                return self.swapped(kind.type)
            case types.DictItemsIterableType() | types.DictKeysIterableType() | types.DictValuesIterableType():
                return type(kind)(self.swapped(kind.parent))
            case types.DictType():
                return types.DictType(kind.key_type, self.swapped(kind.value_type))
            case types.BaseTuple():
                return types.Tuple(tuple(map(self.swapped, kind.types)))
            case types.List() | types.ListType():
                return type(kind)(self.swapped(kind.dtype))
        return kind

    def is_dict(self, x: str) -> bool:
        """Whether a container is a dict."""
        return isinstance(self.of[x], types.DictType)

    def put(self, s: anf.Stmt) -> list[anf.Atom]:
        """The atoms that become items of a container."""
        if isinstance(s, anf.Store):
            return [s.value] if s.array in self.containers else []
        if not isinstance(s, anf.Let):
            return []
        if isinstance(s, anf.OpaqueExpr) and s.target in self.containers and self.starts(s):
            return [self.refs.get(x, x) for x in values_of(s.tree)]
        if isinstance(s, anf.MakeList) and s.target in self.containers:
            return list(s.items)
        place = self.place(s)
        return [] if place is None else [s.args[place]]

    def place(self, s: anf.Let) -> int | None:
        """Index of the argument of a method that becomes an item."""
        if not isinstance(s, anf.CallMethod) or s.args[0] not in self.containers:
            return None
        place = _PLACES.get(s.method)
        if s.method == "pop" and not self.is_dict(s.args[0]):
            return None
        return place if place is not None and place < len(s.args) else None

    def taken(self, s: anf.Stmt) -> list[str]:
        """The variable that a statement assigns an item of a container to."""
        if not isinstance(s, anf.Let) or not s.args:
            return []
        if isinstance(s, anf.GetItem) and s.args[0] in self.pairs:
            return [s.target] if s.index == (anf.Const(1),) else []
        if s.args[0] not in self.containers:
            return []
        item = isinstance(s, anf.GetItem) and not isinstance(s.index[0], anf.Slice)
        return (
            [s.target] if item or (isinstance(s, anf.CallMethod) and s.method in ("get", "pop", "setdefault")) else []
        )

    def keeps(self, s: anf.Let) -> bool:
        """Whether an operation leaves an item the item that it was, or gives another name to one."""
        return (isinstance(s, anf.Copy) and s.args[0] in self.items) or (
            isinstance(s, anf.InplaceOp) and s.args[0] == s.target
        )

    def grows(self, s: anf.Stmt) -> bool:
        """Whether a statement itself may make an item or a longer one, so that the heap moves."""
        if any(x not in self.items for x in self.put(s)):
            return True
        if not isinstance(s, anf.Let):
            return False
        if isinstance(s, (anf.CallMethod, anf.InplaceOp)) and s.args[0] in self.items and is_list(self.item):
            return True
        return s.target in self.items and s.target not in self.taken(s) and not self.keeps(s)

    def changes_length(self, s: anf.Stmt) -> bool:
        """Whether a statement itself makes an item longer or shorter."""
        if not isinstance(s, anf.Let) or not s.args or s.args[0] not in self.items or not is_list(self.item):
            return False
        return isinstance(s, anf.InplaceOp) or (isinstance(s, anf.CallMethod) and s.method in CHANGING)

    def starts(self, s: anf.OpaqueExpr) -> bool:
        """Whether an expression is a new dict: {...}, dict(), Dict.empty(key, value)."""
        tree = s.tree
        if isinstance(tree, ast.Dict):
            keys = all(isinstance(x, (ast.Constant, ast.Name)) for x in tree.keys)
            return keys and all(isinstance(x, ast.Name) for x in tree.values)
        if not isinstance(tree, ast.Call) or tree.keywords:
            return False
        empty = isinstance(tree.func, ast.Attribute) and tree.func.attr == "empty" and len(tree.args) == 2
        return empty or (ast.unparse(tree.func) == "dict" and not tree.args)
