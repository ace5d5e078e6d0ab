"""A-normal form (ANF): the IR that a numba function is lowered to and scalarised in; anf_to_core.py types it.

A function in A-normal form. An atom is the name of a variable or a constant; every operation has atoms for arguments
and a name for its result, so that numba can tell the type of every intermediate value.

    block      a list of statements
    Let        target = operation         a class for each operation: BinOp, GetItem, CallUser, ...
    Store      array[index] = value       the only statement that changes memory, with Call
    If         if test: then else: orelse
    For        for target in range(start, stop, step): body
    While      while (test_block; test): body
    Effect     raise, print: what happens in the forward sweep only
    Opaque     statements of Python, which stay as they are: no derivative goes through them

There is no break, continue or early return: to_anf.py has turned them into flags, and a loop ends after the iteration
that has set one of its `exits`. A variable may be assigned many times. Nothing changes that was made: a pass returns
new statements (rewrite.py).

Other modules write `anf.BinOp`, `anf.walk`: the names of Python's syntax trees and of core are the same.
"""

from dualrev.compiler.ir.anf.atoms import (
    Atom,
    Const,
    Entry,
    Index,
    Member,
    Node,
    Ref,
    Slice,
    Tree,
    atom_of,
    index_atoms,
    leaves,
    variables,
)
from dualrev.compiler.ir.anf.operations import (
    Alloc,
    AllocList,
    AsList,
    BinOp,
    CallKnown,
    CallMethod,
    CallStarred,
    CallUfunc,
    CallUser,
    Copy,
    Discrete,
    GetAttr,
    GetItem,
    InplaceOp,
    Let,
    Load,
    MakeArray,
    MakeList,
    MakeObject,
    MakeTuple,
    OpaqueExpr,
    Places,
    Prim,
    Star,
    UnaryOp,
    View,
    ViewExpr,
    WholeArray,
    Window,
)
from dualrev.compiler.ir.anf.statements import (
    BARRIER,
    Call,
    Effect,
    For,
    If,
    Opaque,
    Stmt,
    Store,
    While,
    blocks,
    ends,
    reads,
    walk,
    writes,
)

__all__ = [
    "BARRIER",
    "Alloc",
    "AllocList",
    "AsList",
    "Atom",
    "BinOp",
    "Call",
    "CallKnown",
    "CallMethod",
    "CallStarred",
    "CallUfunc",
    "CallUser",
    "Const",
    "Copy",
    "Discrete",
    "Effect",
    "Entry",
    "For",
    "GetAttr",
    "GetItem",
    "If",
    "Index",
    "InplaceOp",
    "Let",
    "Load",
    "MakeArray",
    "MakeList",
    "MakeObject",
    "MakeTuple",
    "Member",
    "Node",
    "Opaque",
    "OpaqueExpr",
    "Places",
    "Prim",
    "Ref",
    "Slice",
    "Star",
    "Stmt",
    "Store",
    "Tree",
    "UnaryOp",
    "View",
    "ViewExpr",
    "While",
    "WholeArray",
    "Window",
    "atom_of",
    "blocks",
    "ends",
    "index_atoms",
    "leaves",
    "reads",
    "variables",
    "walk",
    "writes",
]
