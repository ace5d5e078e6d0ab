"""Lower indexing and attributes of arrays and tuples to loads, views and integers.

Takes the writer, what has been put off, tuples, and arrays in indices.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.to_python import dtype_name
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.arrays.fancy_indexing import Gathering
from dualrev.compiler.scalarize.arrays.indices import index_of, is_gathered, unravelled
from dualrev.compiler.scalarize.arrays.layout import Layouts
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.scalarize.tuples import Tuples
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import NUMBERS, is_array, is_real, is_real_array

__all__ = ["Items"]


class Items:
    """Lowering of `a[index]`, and of attributes of arrays and named tuples."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy, tuples: Tuples, gathering: Gathering, layouts: Layouts) -> None:
        self.code, self.lazy, self.tuples, self.gathering = code, lazy, tuples, gathering
        self.layouts = layouts
        self._flats: dict[str, str] = {}  # the arrays of `a.flat`

    def getitem(self, s: anf.GetItem, kind: NumbaType) -> None:
        """Lower `a[index]` to a load, a view or a gather; of a tuple, to a component."""
        code, base = self.code, s.args[0]
        of = code.kind(base)
        if isinstance(of, types.BaseTuple):
            self.tuples.item(s)
        elif base in self._flats:
            (k,), array = s.index, self._flats[base]
            if isinstance(k, anf.Slice):
                code.refuse(s.line, "a slice of a.flat", "numba types it, but cannot compile it", "a.ravel()[i:j]")
            code.emit(anf.Load(s.target, array, unravelled(code, array, anf.atom_of(k), s.line), s.line))
        elif is_array(of) and is_gathered(code, s.index):
            self.gathering.read(s, kind)
        elif is_array(of):
            index = index_of(code, s.index, of.ndim, s.line)
            code.emit((anf.View if is_array(kind) else anf.Load)(s.target, base, index, s.line))
        else:
            code.refuse(s.line, f"an index of a value of numba type {of}", "it is no array or tuple", "an array")

    def attribute(self, s: anf.GetAttr, kind: NumbaType) -> None:
        """Lower attributes of arrays, such as `a.shape`, and fields of named tuples."""
        code, base, name = self.code, s.args[0], s.name
        of = code.kind(base)
        if isinstance(of, types.BaseNamedTuple):
            part = code.parts(base)[of.fields.index(name)]
            code.copy_tree(code.tree(s.target), part, s.line)
        elif is_array(of) and (name == "shape" or (name == "strides" and base in code.lowered.parameters)):
            for k, t in enumerate(code.variables(s.target)):
                code.plain(f"a.{name}[{k}]", s.line, target=t, a=base)
        elif is_array(of) and name in ("size", "ndim", "itemsize", "nbytes"):
            code.plain(f"a.{name}", s.line, target=s.target, a=base)
        elif name == "real" and (is_real(of) or is_real_array(of)):
            code.emit(anf.Copy(s.target, base, s.line))
        elif name == "imag" and is_real(of):
            code.emit(anf.Copy(s.target, anf.Const(0.0), s.line))
        elif is_real_array(of) and name == "imag":
            code.emit(
                anf.Alloc(s.target, (base,), to_python.name(f"np.zeros({base}.shape, {dtype_name(of.dtype)})"), s.line)
            )
        elif is_array(of) and name == "strides":
            self.layouts.asks_for_layout = True
            for k, t in enumerate(code.variables(s.target)):
                code.plain(f"a.strides[{k}]", s.line, target=t, a=base)
        elif is_array(of) and name == "T":
            code.emit(anf.ViewExpr(s.target, base, (), to_python.name("BASE.T"), s.line))
        elif is_array(of) and name == "flat" and code.names.is_temporary(s.target):
            self._flats[s.target] = named(base)
        elif isinstance(of, types.EnumMember) and name == "value":
            code.plain("a.value", s.line, target=s.target, a=base)
        elif is_array(of) and name == "dtype":
            pass  # the type of the variable says it
        elif name == "flat":
            code.refuse(
                s.line, "the attribute .flat under a name", "it is known where it is used", "a.flat[k], a.ravel()"
            )
        else:
            code.refuse(s.line, f"the attribute .{name}", "it is not known", "a numba function of its object")

    def shape(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.shape`, `np.size` and `np.ndim`."""
        self.lazy.materialise(s.args[0])
        self.attribute(anf.GetAttr(s.target, s.args[0], s.function.split(".")[-1], s.line), kind)

    def real(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.real` of real values: an alias of the argument."""
        self.lazy.materialise(s.args[0])
        self.attribute(anf.GetAttr(s.target, s.args[0], "real", s.line), kind)

    def imag(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.imag` of real values: zeros."""
        self.lazy.materialise(s.args[0])
        self.attribute(anf.GetAttr(s.target, s.args[0], "imag", s.line), kind)

    def stores(self, s: anf.Store) -> bool:
        """Lower `a.flat[k] = x`; False for any other store."""
        if s.array not in self._flats:
            return False
        code, array = self.code, self._flats[s.array]
        place = s.index[0]
        of_number = isinstance(code.kind(s.value), NUMBERS)
        if not (of_number and isinstance(place, (str, anf.Const)) and isinstance(code.kind(place), types.Integer)):
            code.refuse(s.line, "this assignment to a.flat", "only that of a number is known", "a loop")
        self.lazy.materialise(s.value)
        self.lazy.flush()
        code.put(array, unravelled(code, array, place, s.line), s.value, s.line)
        return True

    def length(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `len` of a tuple or an array."""
        of = self.code.kind(s.args[0])
        if isinstance(of, types.BaseTuple):
            self.code.emit(anf.Copy(s.target, anf.Const(len(of.types)), s.line))
        else:
            self.lazy.materialise(s.args[0])
            self.code.as_written(s)
